package changeset

import "slices"

// Flag is something a reviewer must see about a change.
type Flag string

// Flags, gravest first.
const (
	FlagGitControl    Flag = "git-control"         // inside a .git folder, or a file that decides what git runs
	FlagSetuid        Flag = "setuid"              // setuid, setgid or file capabilities; stripped at apply unless approved
	FlagToolControl   Flag = "tool-control"        // a file by which an editor, shell or agent runs something outside of the sandbox
	FlagLinkOutside   Flag = "link-leaves-tree"    // a symlink whose target is absolute or climbs out
	FlagSecret        Flag = "secret"              // name or content looks like a credential
	FlagNewExecutable Flag = "new-executable"      // an executable bit where there was none
	FlagManyDeletes   Flag = "many-deletes"        // set on each deletion where a set deletes more than the limit
	FlagCI            Flag = "ci"                  // continuous-integration configuration
	FlagUndeclared    Flag = "outside-declared"    // not among the files its step declared
	FlagManifest      Flag = "dependency-manifest" // dependency manifest or lock file
)

// Flags lists every flag, gravest first.
func Flags() []Flag {
	return []Flag{
		FlagGitControl, FlagSetuid, FlagToolControl, FlagLinkOutside, FlagSecret,
		FlagNewExecutable, FlagManyDeletes, FlagCI, FlagUndeclared, FlagManifest,
	}
}

// Blocking reports whether the flag stops an apply until a person decides: those
// by which a change would gain power outside of the sandbox merely by being there.
func (f Flag) Blocking() bool {
	return f == FlagGitControl || f == FlagSetuid || f == FlagToolControl
}

// rank orders flags by gravity; unknown ones come last.
func rank(f Flag) int {
	if i := slices.Index(Flags(), f); i >= 0 {
		return i
	}
	return len(Flags())
}

// Blocked returns the changes of the set that stop an apply, in order.
func (s *Set) Blocked() []Change {
	var out []Change
	for _, c := range s.Changes {
		if slices.ContainsFunc(c.Flags, Flag.Blocking) {
			out = append(out, c)
		}
	}
	return out
}
