//go:build linux

package holder

import (
	"os"
	"sync"
	"syscall"
)

// A holder outlives the command that started it, but while both live it is that
// command's child and would stay a zombie when it ends first. started keeps
// those children; whoever looks at holders reaps the ended ones.
var started struct {
	sync.Mutex
	list []*os.Process
}

// remember keeps a started holder for reaping.
func remember(p *os.Process) {
	reapStarted()
	started.Lock()
	defer started.Unlock()
	started.list = append(started.list, p)
}

// reapStarted collects those that have ended, without waiting.
func reapStarted() {
	started.Lock()
	defer started.Unlock()
	rest := started.list[:0]
	for _, p := range started.list {
		pid, err := syscall.Wait4(p.Pid, nil, syscall.WNOHANG, nil)
		if pid == p.Pid || err != nil {
			_ = p.Release()
			continue
		}
		rest = append(rest, p)
	}
	started.list = rest
}
