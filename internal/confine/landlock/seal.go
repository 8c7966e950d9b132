//go:build linux

package landlock

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/domain"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/confine/privilege"
	"github.com/ambit-run/ambit/internal/confine/syscallfilter"
	"golang.org/x/sys/unix"
)

// ArgGuard starts the binary as this rung's guard process.
const ArgGuard = "ambit-guard-landlock"

// rules travel from the caller to the guard process.
type rules struct {
	Paths    domain.Paths `json:"paths"`
	HostNet  bool         `json:"host_net,omitempty"`
	Sabotage []string     `json:"sabotage,omitempty"`
}

// filter is the system call filter for the running kernel's Landlock.
func (r rules) filter(abi int) []syscallfilter.Rule {
	return syscallfilter.Unnamespaced(syscallfilter.Reach{
		Network: r.HostNet || r.weakened(weakNetwork),
		Connect: r.HostNet || r.weakened(weakNetwork) || abi >= domain.ABIUnixSockets, Truncate: abi >= domain.ABITruncate,
	})
}

// Stages are what the guard process does.
func Stages() holder.Stages {
	return holder.Stages{Prepare: func(holder.Inside) error { return nil }, Seal: seal}
}

// seal confines the calling thread, which forks the command next.
func seal(_ holder.Inside, job holder.Job) error {
	var r rules
	if err := json.Unmarshal(job.Rules, &r); err != nil {
		return fault.Wrap(fault.Internal, "enter", fmt.Errorf("read rules: %w", err))
	}
	if err := r.enforce(job); err != nil {
		return fault.Wrap(fault.Unsupported, "enter", err)
	}
	return nil
}

func (r rules) enforce(job holder.Job) error {
	abi, err := domain.ABI()
	if err != nil {
		return err
	}
	if job.Terminal != "" {
		r.Paths.Write = append(r.Paths.Write, job.Terminal)
	}
	ruleset, err := domain.New(r.Paths)
	if err != nil {
		return err
	}
	defer ruleset.File.Close()
	defer runtime.KeepAlive(ruleset)
	if r.weakened(weakFiles) {
		if _, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY, 0); err != nil {
			return err
		}
	}
	if r.weakened(weakAll) {
		return nil
	}
	if !r.weakened(weakCaps) {
		if err := privilege.Drop(); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if !r.weakened(weakRules) {
		if err := domain.Enforce(ruleset.File, ruleset.Flags); err != nil {
			return err
		}
	}
	if r.weakened(weakCalls) {
		return nil
	}
	return syscallfilter.Install(r.filter(abi))
}
