package discover

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ambit-run/ambit/fault"
)

// gitDirs are the two folders a checkout's .git leads to, canonical.
type gitDirs struct{ gitDir, commonDir string }

// lookAt says whether dir is the top of a checkout. nil, nil: it is not.
func lookAt(dir string) (*gitDirs, error) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Lstat(dot)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, refuseInside(dir)
	case err != nil:
		return nil, pathFault(dot, err)
	}
	if info.Mode()&os.ModeSymlink != 0 { // C76, C78: resolved once, here
		if info, err = os.Stat(dot); err != nil {
			return nil, fault.New(fault.Invalid, "find resource", "%s is a link that leads nowhere", dot).WithCause(err)
		}
	}
	switch {
	case info.IsDir():
		real, err := filepath.EvalSymlinks(dot)
		if err != nil {
			return nil, pathFault(dot, err)
		}
		if !isGitDir(real) {
			return nil, nil //nolint:nilnil // git, too, takes such a folder for nothing and looks further up
		}
		return complete(real, dot)
	case info.Mode().IsRegular():
		real, err := followPointer(dot)
		if err != nil {
			return nil, err
		}
		return complete(real, dot)
	}
	return nil, fault.New(fault.Invalid, "find resource", "%s is neither a folder nor a file", dot).
		WithHint("remove it, or work elsewhere")
}

// refuseInside keeps the person from taking git's own folder, or a bare
// repository, for a directory of files.
func refuseInside(dir string) error {
	if !isGitDir(dir) {
		return nil
	}
	if filepath.Base(dir) == ".git" {
		return fault.New(fault.Invalid, "find resource", "%s is git's own folder", dir).
			WithHint("use the checkout it belongs to: %s", filepath.Dir(dir))
	}
	if backlink := readSmall(filepath.Join(dir, "gitdir")); backlink != "" {
		return fault.New(fault.Invalid, "find resource", "%s is git's own folder", dir).
			WithHint("use the checkout it belongs to: %s", filepath.Dir(backlink))
	}
	return bareFault(dir)
}

// followPointer reads a .git file ("gitdir: PATH") and returns the canonical
// folder it names.
func followPointer(dot string) (string, error) {
	target, ok := strings.CutPrefix(readSmall(dot), "gitdir: ")
	if !ok || target == "" {
		return "", fault.New(fault.Invalid, "find resource", "%s is a file, but no git pointer", dot).
			WithHint("it should read \"gitdir: PATH\"; remove it if it is a leftover")
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(dot), target)
	}
	broken := fault.New(fault.Invalid, "find resource", "%s points at %s, which is not a git directory", dot, target).
		WithHint("run git worktree repair in the main checkout, or remove the leftover file")
	real, err := filepath.EvalSymlinks(target)
	if err != nil {
		return "", broken.WithCause(err)
	}
	if !isGitDir(real) {
		return "", broken
	}
	return real, nil
}

// complete finds the common directory and checks that the two belong to this
// checkout.
func complete(gitDir, dot string) (*gitDirs, error) {
	g := &gitDirs{gitDir: gitDir, commonDir: gitDir}
	if common := readSmall(filepath.Join(gitDir, "commondir")); common != "" {
		if !filepath.IsAbs(common) {
			common = filepath.Join(gitDir, common)
		}
		real, err := filepath.EvalSymlinks(common)
		if err != nil {
			return nil, fault.New(fault.Invalid, "find resource", "%s belongs to a repository that is gone: %s", dot, common).WithCause(err)
		}
		g.commonDir = real
		if err := checkBacklink(gitDir, dot); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"objects", "refs"} {
		p := filepath.Join(g.commonDir, name)
		info, err := os.Lstat(p)
		if err != nil {
			return nil, pathFault(p, err)
		}
		if info.Mode()&os.ModeSymlink != 0 {
			return nil, fault.New(fault.Unsupported, "find resource", "%s is a link: the repository is spread over several places, which a sandbox cannot cover", p).
				WithHint("make a clone with a .git folder of its own and work there")
		}
	}
	return g, nil
}

// checkBacklink refuses a copied or moved worktree: its git folder belongs to
// the checkout that it names, and working here would change that one (C28).
func checkBacklink(gitDir, dot string) error {
	back := readSmall(filepath.Join(gitDir, "gitdir"))
	if back == "" {
		return nil // a submodule of a linked worktree has no backlink
	}
	if !filepath.IsAbs(back) {
		back = filepath.Join(gitDir, back)
	}
	here, errHere := os.Stat(dot)
	there, errThere := os.Stat(back)
	if errHere == nil && errThere == nil && os.SameFile(here, there) {
		return nil
	}
	return fault.New(fault.Invalid, "find resource", "%s says it is the worktree of %s, which says it belongs to %s", dot, gitDir, back).
		WithHint("if the worktree was moved, run git worktree repair in it; if it was copied, make a worktree with git worktree add instead")
}

// isGitDir recognises a git directory as git does: a HEAD that can be one, and
// objects and references here or in the common directory.
func isGitDir(dir string) bool {
	if !plausibleHead(filepath.Join(dir, "HEAD")) {
		return false
	}
	common := dir
	if c := readSmall(filepath.Join(dir, "commondir")); c != "" {
		if common = c; !filepath.IsAbs(c) {
			common = filepath.Join(dir, c)
		}
	}
	return isDir(filepath.Join(common, "objects")) && isDir(filepath.Join(common, "refs"))
}

func plausibleHead(path string) bool {
	if target, err := os.Readlink(path); err == nil {
		return strings.HasPrefix(target, "refs/")
	}
	head := readSmall(path)
	if ref, ok := strings.CutPrefix(head, "ref:"); ok {
		return strings.HasPrefix(strings.TrimSpace(ref), "refs/")
	}
	return (len(head) == 40 || len(head) == 64) && strings.Trim(head, "0123456789abcdef") == ""
}

// readSmall returns the first 4 KiB of a regular file without trailing line
// ends, "" when it cannot. A FIFO or device in its place is never opened for
// reading: the open does not block, and what was opened is checked.
func readSmall(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // read only
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(b), "\r\n")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func deviceOf(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fault.New(fault.Unsupported, "find resource", "no device number for %s", path)
	}
	return uint64(st.Dev), nil //nolint:unconvert // the field's type differs between systems
}
