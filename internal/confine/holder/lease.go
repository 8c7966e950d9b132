//go:build linux

package holder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ambit-run/ambit/internal/procid"
	"golang.org/x/sys/unix"
)

// Lease is what a holder writes about itself beside its socket, so that another
// process can tell a live one from the remains of a dead one.
type Lease struct {
	Plan    string    `json:"plan"`
	Outer   procid.ID `json:"outer"`
	Inner   procid.ID `json:"inner"`
	Spec    string    `json:"spec"` // hash of the spec it holds
	Since   time.Time `json:"since"`
	Version int       `json:"version"`
}

// leaseVersion is raised when the protocol changes: a holder of another version
// is never attached to, only closed.
const leaseVersion = 1

// errGone says that a process has ended.
var errGone = errors.New("the process has ended")

// openProcess returns a descriptor that stays bound to the very process; the
// error is errGone when it has ended. The identity is checked after opening, so
// it cannot be another's (C122).
func openProcess(id procid.ID) (*os.File, error) {
	if id.PID <= 0 {
		return nil, errGone
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL):
		return nil, errGone
	case err != nil:
		return nil, fmt.Errorf("open process %d: %w", id.PID, err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	alive, err := procid.Alive(id)
	if err == nil && !alive {
		err = errGone
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// killProcess sends SIGKILL to the very process, if it lives.
func killProcess(id procid.ID) error {
	f, err := openProcess(id)
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.PidfdSendSignal(int(f.Fd()), unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", id.PID, err)
	}
	return nil
}

// waitProcess returns when the process has ended with all of its threads. It
// polls in short turns, so that ctx is heeded without a second descriptor.
func waitProcess(ctx context.Context, id procid.ID) error {
	f, err := openProcess(id)
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		pfd := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(pfd, 20)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait for process %d: %w", id.PID, err)
		case n > 0:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

// running reports whether the process lives; when in doubt it does.
func running(id procid.ID) bool {
	alive, err := procid.Alive(id)
	return alive || err != nil
}

const (
	leaseName  = "lease.json"
	socketName = "sock"
	aliveName  = "alive"
	openName   = "lock"
	logName    = "log"
)

// readLease returns the lease in a holder's folder; ok is false when there is none
// or it is no lease (a crash can leave an empty file).
func readLease(dir string) (l Lease, ok bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, leaseName))
	if errors.Is(err, fs.ErrNotExist) {
		return Lease{}, false, nil
	}
	if err != nil {
		return Lease{}, false, fmt.Errorf("read lease: %w", err)
	}
	ok = json.Unmarshal(b, &l) == nil && l.Outer.PID > 0
	return l, ok, nil
}

// writeLease replaces the lease atomically. It is not synced: a lease of
// another boot says nothing anyway.
func writeLease(dir string, l Lease) error {
	b, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write lease: %w", err)
	}
	tmp := filepath.Join(dir, leaseName+".tmp")
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return fmt.Errorf("write lease: %w", err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, leaseName)); err != nil {
		return fmt.Errorf("write lease: %w", err)
	}
	return nil
}

// lockFile takes an exclusive lock on a file in dir, waiting until ctx ends.
func lockFile(ctx context.Context, dir, name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("take lock: %w", err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
