package privilege

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// last returns the highest capability of the running kernel.
func last() int {
	b, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return unix.CAP_LAST_CAP
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return unix.CAP_LAST_CAP
	}
	return n
}

// All lists every capability of the running kernel.
func All() []uintptr {
	caps := make([]uintptr, last()+1)
	for i := range caps {
		caps[i] = uintptr(i)
	}
	return caps
}

// Drop takes every capability from the calling thread, which must be
// locked, and so for good from what it forks. Other threads of the process keep
// theirs: doing it for all takes milliseconds, and they run nothing but our own
// reaping. Works with and without privileges.
func Drop() error {
	for c := range last() + 1 {
		// EPERM: without CAP_SETPCAP nothing can be dropped; then no_new_privs and
		// the empty sets below are what counts.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && err != unix.EPERM {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capset(&head, &data[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
