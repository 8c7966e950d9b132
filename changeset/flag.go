package changeset

// Flag is something a reviewer must see about a change.
type Flag string

// Flags.
const (
	FlagNewExecutable Flag = "new-executable"      // an executable bit where there was none
	FlagSetuid        Flag = "setuid"              // setuid, setgid or file capabilities; stripped at apply unless approved
	FlagLinkOutside   Flag = "link-leaves-tree"    // a symlink whose target is absolute or climbs out
	FlagSecret        Flag = "secret"              // name or content looks like a credential
	FlagUndeclared    Flag = "outside-declared"    // not among the files its step declared
	FlagGitControl    Flag = "git-control"         // inside a .git folder, or a file git executes by
	FlagCI            Flag = "ci"                  // continuous-integration configuration
	FlagManifest      Flag = "dependency-manifest" // dependency manifest or lock file
	FlagManyDeletes   Flag = "many-deletes"        // set on each deletion where a set deletes more than the limit
)

// Blocking reports whether the flag stops an apply until a person decides.
func (f Flag) Blocking() bool { return f == FlagGitControl || f == FlagSetuid }
