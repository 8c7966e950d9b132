//go:build linux

package holder

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// closeOnExec marks every descriptor from first on, also those that this
// process inherited and Go knows nothing about: a descriptor of a directory that
// reached a command would be a way round every mount.
func closeOnExec(first uint) error {
	err := unix.CloseRange(first, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Before Linux 5.11, where only the rung without any confinement runs: one by one.
	es, derr := os.ReadDir("/proc/self/fd")
	if derr != nil {
		return fmt.Errorf("close inherited descriptors: %w", errors.Join(err, derr))
	}
	for _, e := range es {
		fd, err := strconv.ParseUint(e.Name(), 10, 31)
		if err != nil || uint(fd) < first {
			continue
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil && !errors.Is(err, unix.EBADF) {
			return fmt.Errorf("close inherited descriptors: %w", err)
		}
	}
	return nil
}

// children returns the pids of a process's children.
func children(pid int) []int {
	base := "/proc/" + strconv.Itoa(pid) + "/task/"
	tasks, err := os.ReadDir(base)
	if err != nil {
		return nil
	}
	var pids []int
	for _, t := range tasks {
		b, err := os.ReadFile(base + t.Name() + "/children")
		if err != nil {
			continue
		}
		for f := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(f); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// hostPID finds the child of the inner process that numbers itself pid there.
// It returns 0 when it is gone already.
func (o *outer) hostPID(pid int) int {
	for _, child := range children(o.inner.Pid) {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(child) + "/status")
		if err != nil {
			continue
		}
		_, rest, ok := strings.Cut(string(b), "\nNSpid:")
		if !ok {
			continue
		}
		line, _, _ := strings.Cut(rest, "\n")
		// From the outermost namespace inwards: ours, the inner process's, its own.
		if f := strings.Fields(line); slices.Contains(f[min(1, len(f)):min(2, len(f))], strconv.Itoa(pid)) {
			return child
		}
	}
	return 0
}
