//go:build linux

package holder

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/ambit-run/ambit/fault"
	"golang.org/x/sys/unix"
)

// Descriptors the inner process is started with.
const (
	fdLink  = 3 // socket to the outer process
	fdAlive = 4 // the lock that says the layers are in use; only held
)

// inner is pid 1 of the holder's namespaces. It makes the inside, forks entries
// and reaps them; it never runs a command itself.
type inner struct {
	link   *Conn
	st     Stages
	plan   string
	inside Inside
	spare  *spare // of the locked thread

	mu      sync.Mutex
	running map[int]int // pid of an entry process → id
}

// InnerMain is the inner process. It returns the exit code.
func InnerMain(st Stages, plan string) int {
	if err := closeOnExec(3); err != nil {
		fmt.Fprintln(os.Stderr, "init:", err)
		return 1
	}
	// Entries die with the thread that cloned them; this one stays.
	runtime.LockOSThread()
	// No command may read our environment or descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "init: hide process:", err)
		return 1
	}
	// Set again: an exec that changes credentials clears it. Whoever died before
	// this line is noticed by the closed socket.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "init: tie to holder:", err)
		return 1
	}
	unix.Umask(0o022)
	link, err := connFromFile(os.NewFile(fdLink, "link"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "init:", err)
		return 1
	}
	in := &inner{link: link, st: st, plan: plan, running: map[int]int{}}
	var first order
	files, err := link.Recv(&first)
	closeAll(files)
	if err != nil || first.Op != "setup" {
		fmt.Fprintln(os.Stderr, "init: no set-up:", err)
		return 1
	}
	in.inside, err = st.Build(first.Setup)
	if err != nil {
		_ = link.Send(event{Event: "failed", Failure: failureOf(err)})
		return 1
	}
	if err := in.fork(); err != nil {
		_ = link.Send(event{Event: "failed", Failure: failureOf(fault.Wrap(fault.Unsupported, "start holder", fmt.Errorf("start entry process: %w", err)))})
		return 1
	}
	if err := link.Send(event{Event: "ready", Notices: in.inside.Notices}); err != nil {
		return 1
	}
	// Orders come by a goroutine so that this thread is free to fork and reap:
	// a pid 1 that is stuck in a read would leave zombies.
	spawn := make(chan func())
	reaped := make(chan struct{}, 1)
	go in.obey(spawn)
	sigchld := make(chan os.Signal, 1)
	notifyChild(sigchld)
	go func() {
		for range sigchld {
			select {
			case reaped <- struct{}{}:
			default:
			}
		}
	}()
	for {
		select {
		case f, ok := <-spawn:
			if !ok {
				return 0 // the outer process is gone: end, and take everything along
			}
			f()
		case <-reaped:
			in.reap()
			// Commands come in rows: have the next one's process ready. Failing that,
			// the next one starts its own and says why it cannot.
			if in.spare == nil {
				_ = in.fork()
			}
		}
	}
}

// obey turns orders into work for the locked thread until the socket closes.
func (in *inner) obey(spawn chan<- func()) {
	defer close(spawn)
	for {
		var o order
		files, err := in.link.Recv(&o)
		if err != nil {
			return
		}
		switch o.Op {
		case "spawn":
			spawn <- func() { in.spawn(o, files) }
		case "kill":
			closeAll(files)
			in.kill(o.ID)
		default:
			closeAll(files)
		}
	}
}

// spawn hands the order to the spare entry process, or to a new one. Runs on the
// locked thread.
func (in *inner) spawn(o order, files []*os.File) {
	defer closeAll(files)
	fail := func(err error) {
		_ = in.link.Send(event{Event: "failed", ID: o.ID, Failure: failureOf(err)})
	}
	if len(files) != 1+len(o.Streams) {
		fail(fault.New(fault.Internal, "enter holder", "%d descriptors for streams %q", len(files), o.Streams))
		return
	}
	for range 2 { // a spare may have died unnoticed
		if in.spare == nil {
			if err := in.fork(); err != nil {
				fail(fault.Wrap(fault.Unavailable, "enter holder", fmt.Errorf("start entry process: %w", err)))
				return
			}
		}
		s := in.spare
		in.spare = nil
		in.mu.Lock()
		in.running[s.pid] = o.ID
		in.mu.Unlock()
		err := s.hand.Send(handover{Streams: o.Streams}, files...)
		s.hand.Close()
		if err == nil {
			_ = in.link.Send(event{Event: "spawned", ID: o.ID, PID: s.pid})
			return
		}
		in.mu.Lock()
		delete(in.running, s.pid)
		in.mu.Unlock()
	}
	fail(fault.New(fault.Unavailable, "enter holder", "entry processes die as they start"))
}

// spare is an entry process that waits for its command: most of what an entry
// costs is the start of its process.
type spare struct {
	pid  int
	hand *Conn
}

// handover is what a waiting entry process gets, with the control socket and one
// descriptor for each of the streams.
type handover struct {
	Streams string `json:"streams"`
}

// fork makes a spare. Runs on the locked thread.
func (in *inner) fork() error {
	near, far, err := pair()
	if err != nil {
		return err
	}
	defer far.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		near.Close()
		return err
	}
	defer null.Close()
	attr := in.st.EntryAttr(in.inside)
	attr.Pdeathsig = syscall.SIGKILL
	pid, err := forkEntry(attr, entryArgs(in.inside, in.plan), append([]*os.File{null, null, null, far}, in.inside.Files...))
	if err != nil {
		near.Close()
		return err
	}
	in.spare = &spare{pid: pid, hand: near}
	return nil
}

// forkEntry starts the entry process without os.Process, whose own wait would
// compete with ours.
func forkEntry(attr *syscall.SysProcAttr, argv []string, files []*os.File) (int, error) {
	fds := make([]uintptr, len(files))
	for i, f := range files {
		fds[i] = f.Fd()
	}
	pid, err := syscall.ForkExec(selfExe, argv, &syscall.ProcAttr{Dir: "/", Env: SelfEnv(), Files: fds, Sys: attr})
	runtime.KeepAlive(files)
	return pid, err
}

// reap collects every ended child. An entry process that is reaped was pid 1 of
// its namespace: the kernel lets it go only after everything in it is gone.
func (in *inner) reap() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		in.mu.Lock()
		id, ok := in.running[pid]
		delete(in.running, pid)
		in.mu.Unlock()
		switch {
		case ok:
			_ = in.link.Send(event{Event: "gone", ID: id, Status: entryStatus(ws)})
		case in.spare != nil && in.spare.pid == pid:
			in.spare.hand.Close()
			in.spare = nil
		}
	}
}

// entryStatus says how an entry process ended, "" when it did so by itself.
func entryStatus(ws syscall.WaitStatus) string {
	switch {
	case ws.Signaled():
		return "killed by " + unix.SignalName(ws.Signal())
	case ws.ExitStatus() != 0:
		return fmt.Sprintf("entry process failed with status %d", ws.ExitStatus())
	}
	return ""
}

// kill ends the entry with the id, if it still runs. Holding mu while looking up
// and signalling keeps the pid from being reaped, and so reused, in between.
func (in *inner) kill(id int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for pid, i := range in.running {
		if i == id {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
