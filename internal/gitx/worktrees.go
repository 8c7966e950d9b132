package gitx

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// Worktree is one checkout that a repository knows of.
type Worktree struct {
	Path     string
	Head     string // commit; empty before the first one
	Branch   string // full name; empty when detached
	Bare     bool
	Locked   bool
	Prunable bool // git would forget it: its folder is gone
}

// Worktrees lists the checkouts of the repository, the main one first.
func (r *Repo) Worktrees(ctx context.Context) ([]Worktree, error) {
	res, err := r.withRetry(ctx, func() (Result, error) {
		return r.Run(ctx, Opts{}, "worktree", "list", "--porcelain", "-z")
	})
	if err != nil {
		return nil, err
	}
	format, err := r.Format(ctx)
	if err != nil {
		return nil, err
	}
	var list []Worktree
	for _, rec := range SplitZ(res.Stdout) {
		key, value, _ := strings.Cut(rec, " ")
		if key == "worktree" {
			list = append(list, Worktree{Path: value})
			continue
		}
		if len(list) == 0 {
			continue
		}
		w := &list[len(list)-1]
		switch key {
		case "HEAD":
			if value != Zero(format) {
				w.Head = value
			}
		case "branch":
			w.Branch = value
		case "bare":
			w.Bare = true
		case "locked":
			w.Locked = true
		case "prunable":
			w.Prunable = true
		}
	}
	return list, nil
}

// Worktree runs one "git worktree" command that changes something. Arguments that
// come from data go into values.
//
// git's own commands trip over a worktree that another one is just making ("failed
// to read …/commondir"), so those of ambit go one after another, by a lock file of
// ambit's, and a collision with somebody else's is tried again (C16, C17).
func (r *Repo) Worktree(ctx context.Context, values []string, args ...string) (err error) {
	unlock, err := r.lockWorktrees(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = r.withRetry(ctx, func() (Result, error) {
		return r.Run(ctx, Opts{Values: values, Durable: true}, append([]string{"worktree"}, args...)...)
	})
	return err
}

// lockWorktrees takes the lock for the repository's list of worktrees, across
// processes. The kernel lets go of it when the holder dies.
func (r *Repo) lockWorktrees(ctx context.Context) (unlock func(), err error) {
	dir := filepath.Join(r.git.cfg.Dir, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.Wrap(fileCode(err), "lock worktrees", err)
	}
	sum := sha256.Sum256([]byte(r.loc.CommonDir))
	f, err := os.OpenFile(filepath.Join(dir, hex.EncodeToString(sum[:8])), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.Wrap(fileCode(err), "lock worktrees", err)
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // closing lets go of the lock
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close() // the lock's error is the one to report
			return nil, fault.Wrap(fault.Internal, "lock worktrees", err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close() // as above
			return nil, fault.Wrap("", "wait for another plan's worktree", context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// DetachWorktree puts the HEAD of the linked worktree at path on the commit it is
// at, off its branch. Its files and index are not touched. Errors: not_found when
// there is no such worktree.
func (r *Repo) DetachWorktree(ctx context.Context, path string) error {
	admin := filepath.Join(r.loc.CommonDir, "worktrees")
	entries, err := os.ReadDir(admin)
	if err != nil {
		return fault.Wrap(fileCode(err), "find worktree", err)
	}
	for _, e := range entries {
		dir := filepath.Join(admin, e.Name())
		link, err := os.ReadFile(filepath.Join(dir, "gitdir"))
		if err != nil || strings.TrimRight(string(link), "\n") != filepath.Join(path, ".git") {
			continue
		}
		wt, err := r.git.Repo(Location{GitDir: dir, CommonDir: r.loc.CommonDir})
		if err != nil {
			return err
		}
		head, err := wt.Head(ctx)
		if err != nil || head.Branch == "" {
			return err
		}
		return wt.UpdateRefs(ctx, "leave "+head.Branch, RefChange{Name: "HEAD", New: head.Commit, Old: head.Commit})
	}
	return fault.New(fault.NotFound, "find worktree", "no worktree is registered at %s", path)
}
