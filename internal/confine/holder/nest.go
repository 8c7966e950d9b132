//go:build linux

package holder

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// nest is what keeps a command's descendants together, so that all of them can
// be ended.
type nest interface {
	// build runs before the command is forked.
	build() error
	// clear kills everything but the entry process itself and returns how many
	// processes were alive. It may be called from several goroutines.
	clear() int
	// ends reports whether SIGTERM means the end of the entry, rather than a
	// signal for the command.
	ends() bool
}

// namespaceNest is a pid namespace in which the entry process is pid 1: what
// clear does not reach, the kernel ends with the entry process.
type namespaceNest struct{}

func (namespaceNest) build() error {
	// Set again: an exec that changes credentials clears it.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tie to holder: %w", err)
	}
	return nil
}

func (namespaceNest) ends() bool { return false }

func (namespaceNest) clear() int {
	n := 0
	for _, p := range processes() {
		if p.pid != os.Getpid() && !p.dead {
			n++
		}
	}
	if n > 0 && os.Getpid() == 1 { // anywhere else this would reach the whole machine
		_ = syscall.Kill(-1, syscall.SIGKILL)
	}
	return n
}

// subreaperNest has no namespace: orphans of the command become children of the
// entry process, which so can find every descendant.
type subreaperNest struct{}

func (subreaperNest) build() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}

func (subreaperNest) ends() bool { return true }

// maxPasses bounds the attempts against a tree that forks while it is killed.
const maxPasses = 2000

func (subreaperNest) clear() int {
	self := os.Getpid()
	// Stop first: a tree that forks faster than it is killed is never caught.
	stopped := map[int]bool{}
	for range maxPasses {
		found := false
		for _, pid := range descendants(self) {
			if !stopped[pid] {
				stopped[pid], found = true, true
				signalDescendant(self, pid, unix.SIGSTOP)
			}
		}
		if !found {
			break
		}
	}
	for range maxPasses {
		left := descendants(self)
		if len(left) == 0 {
			break
		}
		for _, pid := range left {
			signalDescendant(self, pid, unix.SIGKILL)
		}
		reapOrphans()
	}
	return len(stopped)
}

// signalDescendant signals a process through a descriptor that was checked after
// opening: the pid may have been reused meanwhile (C122).
func signalDescendant(self, pid int, s unix.Signal) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for _, d := range descendants(self) {
		if d == pid {
			_ = unix.PidfdSendSignal(fd, s, nil, 0)
			return
		}
	}
}

// reapOrphans collects children that have ended, so that they are not seen again.
func reapOrphans() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
	}
}

// process is one line of the process table.
type process struct {
	pid, parent int
	dead        bool // a zombie
}

// processes reads the process table.
func processes() []process {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var ps []process
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + n + "/stat")
		if err != nil {
			continue
		}
		// The name, in parentheses, may hold anything, parentheses too.
		f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if len(f) < 2 {
			continue
		}
		parent, err := strconv.Atoi(string(f[1]))
		if err != nil {
			continue
		}
		ps = append(ps, process{pid: pid, parent: parent, dead: f[0][0] == 'Z' || f[0][0] == 'X'})
	}
	return ps
}

// descendants returns the living processes below pid.
func descendants(pid int) []int {
	ps := processes()
	kids := map[int][]process{}
	for _, p := range ps {
		kids[p.parent] = append(kids[p.parent], p)
	}
	var out []int
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		for _, k := range kids[todo[0]] {
			todo = append(todo, k.pid)
			if !k.dead {
				out = append(out, k.pid)
			}
		}
	}
	return out
}
