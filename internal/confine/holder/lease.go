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
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Process names one process for good: a pid alone is reused, a pid with its
// start time within one boot is not (C122).
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot, field 22 of /proc/PID/stat
	Boot  string `json:"boot"`  // /proc/sys/kernel/random/boot_id
}

// Lease is what a holder writes about itself beside its socket, so that another
// process can tell a live one from the remains of a dead one.
type Lease struct {
	Plan    string    `json:"plan"`
	Outer   Process   `json:"outer"`
	Inner   Process   `json:"inner"`
	Spec    string    `json:"spec"` // hash of the spec it holds
	Since   time.Time `json:"since"`
	Version int       `json:"version"`
}

// leaseVersion is raised when the protocol changes: a holder of another version
// is never attached to, only closed.
const leaseVersion = 1

// bootID returns the identity of the running boot.
func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Identify returns the identity of a live process.
func Identify(pid int) (Process, error) {
	boot, err := bootID()
	if err != nil {
		return Process{}, err
	}
	_, start, err := procStat(pid)
	if err != nil {
		return Process{}, err
	}
	return Process{PID: pid, Start: start, Boot: boot}, nil
}

// procStat returns a process's state letter and start time.
func procStat(pid int) (state byte, start uint64, err error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("read process %d: %w", pid, err)
	}
	// The name, in parentheses, may hold anything, parentheses too.
	s := string(b)
	i := strings.LastIndexByte(s, ')')
	if i < 0 {
		return 0, 0, fmt.Errorf("read process %d: malformed stat", pid)
	}
	f := strings.Fields(s[i+1:])
	if len(f) < 20 {
		return 0, 0, fmt.Errorf("read process %d: malformed stat", pid)
	}
	start, err = strconv.ParseUint(f[19], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("read process %d: %w", pid, err)
	}
	return f[0][0], start, nil
}

// Alive reports whether the very process still runs. A zombie does not.
func (p Process) Alive() bool {
	if p.PID <= 0 {
		return false
	}
	boot, err := bootID()
	if err != nil || boot != p.Boot {
		return false
	}
	state, start, err := procStat(p.PID)
	return err == nil && start == p.Start && state != 'Z' && state != 'X'
}

// open returns a descriptor that stays bound to the process, or nil when it is
// gone. The identity is checked after opening, so it cannot be another's.
func (p Process) open() (*os.File, error) {
	if p.PID <= 0 {
		return nil, nil
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("open process %d: %w", p.PID, err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	if !p.Alive() {
		f.Close()
		return nil, nil
	}
	return f, nil
}

// kill sends SIGKILL to the very process, if it lives.
func (p Process) kill() error {
	f, err := p.open()
	if f == nil {
		return err
	}
	defer f.Close()
	if err := unix.PidfdSendSignal(int(f.Fd()), unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", p.PID, err)
	}
	return nil
}

// wait returns when the process has ended, all of its threads included.
func (p Process) wait(ctx context.Context) error {
	f, err := p.open()
	if f == nil {
		return err
	}
	defer f.Close()
	return waitPidfd(ctx, int(f.Fd()))
}

// waitPidfd polls a pidfd in short turns, so that ctx is heeded without a
// second descriptor.
func waitPidfd(ctx context.Context, fd int) error {
	for {
		pfd := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(pfd, 20)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait for process: %w", err)
		case n > 0:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

const (
	leaseName  = "lease.json"
	socketName = "sock"
	aliveName  = "alive"
	openName   = "lock"
	logName    = "log"
)

// readLease returns the lease in a holder's folder; nil when there is none or
// it is no lease (a crash can leave an empty file).
func readLease(dir string) (*Lease, error) {
	b, err := os.ReadFile(filepath.Join(dir, leaseName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read lease: %w", err)
	}
	var l Lease
	if json.Unmarshal(b, &l) != nil {
		return nil, nil
	}
	return &l, nil
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
