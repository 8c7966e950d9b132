package gitx

import (
	"fmt"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// ExitError is a git command that ran and failed.
type ExitError struct {
	Command string // "update-ref --stdin"
	Code    int    // exit code; -1 when a signal ended it
	Stderr  string // at most 64 KiB, trimmed
}

// Error renders the command, its exit code and what it said (C124).
func (e *ExitError) Error() string {
	s := fmt.Sprintf("git %s: exit %d", e.Command, e.Code)
	if e.Stderr != "" {
		s += ": " + e.Stderr
	}
	return s
}

// signs are words of git's messages in the C locale and what they mean.
var signs = []struct {
	text string
	code fault.Code
	hint string
}{
	{".lock': File exists", fault.Conflict, "another git process may be running in this repository; when none is, a crashed one left the lock file named above: remove it by hand"},
	{"Unable to create", fault.Denied, "check that you may write the repository's .git folder"},
	{"cannot lock ref", fault.Conflict, ""},
	{"No space left on device", fault.Unavailable, "free some space and try again"},
	{"Disk quota exceeded", fault.Unavailable, "free some space and try again"},
	{"Permission denied", fault.Denied, "check the owner and mode of the path named above"},
	{"Read-only file system", fault.Denied, ""},
	{"insufficient permission", fault.Denied, "check the owner and mode of the repository's objects folder"},
	{"unknown repository extension", fault.Unsupported, "this git is too old for the repository: install a newer one"},
	{"Expected git repo version", fault.Unsupported, "this git is too old for the repository: install a newer one"},
	{"not a git repository", fault.NotFound, ""},
	{"bad config line", fault.Invalid, "mend or delete the line named above; git itself refuses the repository until then"},
	{"bad config variable", fault.Invalid, "mend or delete the line named above; git itself refuses the repository until then"},
	{"bad numeric config value", fault.Invalid, "mend the setting named above; git itself refuses the repository until then"},
	{"bad boolean config value", fault.Invalid, "mend the setting named above; git itself refuses the repository until then"},
	{"unable to read config file", fault.Denied, "check the owner and mode of the file named above"},
	{"is corrupt", fault.Invalid, "run git fsck in the repository"},
	{"bad object", fault.Invalid, "run git fsck in the repository"},
	{"index file corrupt", fault.Invalid, "the index is damaged: rm .git/index and git reset rebuild it"},
}

// failure turns a failed command into an error that names the step and stderr.
func failure(args []string, exit int, stderr string, cause error) error {
	stderr = strings.TrimSpace(stderr)
	name := args[0]
	if len(args) > 1 && args[0] == "worktree" {
		name += " " + args[1]
	}
	e := &ExitError{Command: name, Code: exit, Stderr: stderr}
	if exit < 0 && stderr == "" {
		e.Stderr = cause.Error()
	}
	for _, s := range signs {
		if strings.Contains(stderr, s.text) {
			f := fault.Wrap(s.code, "", e)
			f.Hint = s.hint
			return f
		}
	}
	return fault.Wrap(fault.Internal, "", e)
}
