package gitx

import "testing"

func TestC16_C17_AnotherGitAtWork(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]bool{
		"fatal: Unable to create '/r/.git/index.lock': File exists.":               true,
		"error: could not lock config file .git/config: File exists":               true,
		"fatal: failed to read /r/.git/worktrees/t/commondir: Success":             true,
		"fatal: Invalid path '/r/.git/worktrees/tree2': No such file or directory": true,
		"fatal: Invalid path '/r/elsewhere': No such file or directory":            false,
		"fatal: not a git repository (or any of the parent directories): .git":     false,
		"fatal: unable to write new index file":                                    false,
	} {
		if got := heldLock(stderr); got != want {
			t.Errorf("%q: %v", stderr, got)
		}
	}
}
