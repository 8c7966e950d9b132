package git

import (
	"context"
	"fmt"
	"time"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

const indexLock = "index.lock"

// lock takes the checkout's index.lock, as every git command that changes index
// or HEAD does. The lock is a second name of a file that only this apply has, so
// that recovery knows its own lock again after a crash. Somebody else's is waited
// for and then reported; it is never removed.
func (j *job) lock(ctx context.Context) (unlock func() error, err error) {
	own := j.stageName() + ".lock"
	if err := j.ownLockFile(own); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(j.cfg.LockWait)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		err := j.gitDir.Link(own, j.gitDir, indexLock)
		if err == nil {
			break
		}
		if !fault.Is(err, fault.Exists) {
			return nil, err
		}
		if ours, err := j.isOurs(own); err != nil || ours {
			if err != nil {
				return nil, err
			}
			break // taken before a crash
		}
		if time.Now().After(deadline) {
			_ = j.gitDir.Remove(own) // ours alone; the lock itself is not touched
			return nil, j.locked()
		}
		select {
		case <-ctx.Done():
			_ = j.gitDir.Remove(own) // as above
			return nil, fault.Wrap("", "wait for "+indexLock, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
	return func() error {
		if ours, err := j.isOurs(own); err != nil || !ours {
			return err // somebody removed it by hand, and another command has one of its own now
		}
		if err := j.gitDir.Remove(indexLock); err != nil {
			return err
		}
		return j.gitDir.Remove(own)
	}, nil
}

func (j *job) locked() error {
	return fault.New(fault.Conflict, "apply", "%s/%s is held: another git command is at work in %s, or one that crashed left it", j.gitDir.Name(), indexLock, j.Location.WorkTree).
		WithHint("wait for it, or, if no git command is running there, remove that file by hand and try again")
}

// unlocked waits until nobody holds the checkout's lock, and takes nothing.
func (j *job) unlocked(ctx context.Context) error {
	deadline := time.Now().Add(j.cfg.LockWait)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		_, err := j.gitDir.Stat(indexLock)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return j.locked()
		}
		select {
		case <-ctx.Done():
			return fault.Wrap("", "wait for "+indexLock, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// ownLockFile makes the file that only this apply has, unless a crashed attempt left it.
func (j *job) ownLockFile(own string) error {
	f, err := j.gitDir.Create(own, 0o644)
	if fault.Is(err, fault.Exists) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "ambit is applying plan %s here; after a crash, run: ambit recover %s\n", j.Plan, j.Plan)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fault.Wrap(writeCode(err), "write "+own, err)
	}
	return nil
}

// isOurs reports whether index.lock is the file that only this apply has.
func (j *job) isOurs(own string) (bool, error) {
	a, err := j.gitDir.Stat(own)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	b, err := j.gitDir.Stat(indexLock)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && a.Kind == fsop.KindFile && a.Ino == b.Ino && a.Dev() == b.Dev(), err
}
