package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ambit-run/ambit/fault"
)

// planLock is the exclusive right to change a plan. The kernel lock on the
// plan's lock file is what excludes: it dies with the process. The store row
// beside it only tells others who holds it.
type planLock struct {
	file  *os.File
	lease Lease
	eng   *Engine
}

// lockPlan takes the plan for this process, or is a conflict naming the holder.
func (e *Engine) lockPlan(ctx context.Context, id, dir, doing string) (*planLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, doing, "the folder of plan %s is gone", id).
			WithHint("put it back if you moved it; `ambit discard %s` forgets the plan", id)
	}
	if err != nil {
		return nil, folderFault(doing, err)
	}
	ok, err := tryLock(f)
	if err != nil {
		f.Close()
		return nil, fault.Wrap(fault.Internal, doing, fmt.Errorf("lock plan %s: %w", id, err))
	}
	if !ok {
		f.Close()
		return nil, e.busy(ctx, id, doing)
	}
	if !isAt(f, filepath.Join(dir, "lock")) {
		f.Close()
		return nil, fault.New(fault.Conflict, doing, "the folder of plan %s was moved meanwhile", id).
			WithHint("repeat the command; `ambit ps --all` says whether it was discarded")
	}
	switch doing {
	case "discard", "recover", "empty trash": // what clears up has to work on a full disk, too
		e.giveReserve()
	}
	l := e.deps.Self
	l.Key, l.Plan, l.Since = "plan:"+id, id, e.deps.Now()
	// The file lock is ours, so whoever the row names is dead or gone.
	if err := e.deps.Store.AcquireLease(ctx, l, func(Lease) bool { return false }); err != nil {
		f.Close()
		return nil, err
	}
	return &planLock{file: f, lease: l, eng: e}, nil
}

// isAt reports whether path still names f. A folder is moved to and from the
// trash by whoever holds its lock, so a lock on a file that has been moved since
// it was opened is no lock on the plan.
func isAt(f *os.File, path string) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(ours, there)
}

// busy says who holds a plan.
func (e *Engine) busy(ctx context.Context, id, doing string) error {
	who := "another ambit process"
	if ls, err := e.deps.Store.Leases(ctx, "plan:"+id); err == nil {
		for _, l := range ls {
			if l.Key == "plan:"+id {
				who = fmt.Sprintf("process %d (since %s)", l.PID, l.Since.Local().Format("15:04:05"))
			}
		}
	}
	return fault.New(fault.Conflict, doing, "plan %s is in use by %s", id, who).
		WithHint("wait until it ends, or stop it; `ambit status %s` shows what it does", id)
}

// unlock gives the plan back. The row goes first, so that it never names a
// process that no longer holds the file lock.
func (l *planLock) unlock(ctx context.Context) error {
	err := l.eng.deps.Store.ReleaseLease(context.WithoutCancel(ctx), l.lease)
	return errors.Join(err, l.file.Close())
}

// held reports whether some living process holds the plan's lock right now. It
// takes nothing, so that looking at a plan never makes another process fail.
func (e *Engine) held(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	locked, err := isLocked(f)
	return err != nil || locked
}
