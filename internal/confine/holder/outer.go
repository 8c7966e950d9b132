//go:build linux

package holder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/procid"
	"golang.org/x/sys/unix"
)

// defaultIdle is how long a holder stays without an entry.
const defaultIdle = 10 * time.Minute

// Descriptors the outer process is started with.
const (
	fdConfig = 3 // read end: a Config, then what to hold
	fdReady  = 4 // write end: one reply once entries can come, or why not
)

// outer is the process in the host's namespaces: socket, lease, idle timer, and
// the only parent of the inner process.
type outer struct {
	cfg    Config
	inner  *os.Process
	innerP procid.ID
	link   *Conn // to the inner process

	mu      sync.Mutex
	next    int
	entries map[int]*live
	stopped bool // no new entries

	stop      chan struct{} // closed when the holder shall end
	stopOnce  sync.Once
	innerGone chan struct{} // closed when the inner process was reaped
	touched   chan struct{} // an entry began or ended
	handlers  sync.WaitGroup
}

// live is one entry.
type live struct {
	engine.Entry
	begun chan event    // "spawned" or "failed", once
	gone  chan struct{} // closed when the tree is gone
	how   string        // status, set before gone is closed
}

// OuterMain is the outer process. It returns the exit code.
func OuterMain(st Stages) int {
	if err := closeOnExec(3); err != nil {
		fmt.Fprintln(os.Stderr, "holder:", err)
		return 1
	}
	// The inner process dies with the thread that cloned it; this one stays.
	runtime.LockOSThread()
	ready := os.NewFile(fdReady, "ready")
	err := runOuter(st, ready)
	if err != nil {
		fmt.Fprintln(os.Stderr, "holder:", err)
		_ = json.NewEncoder(ready).Encode(reply{Failure: failureOf(err)})
		return 1
	}
	return 0
}

func runOuter(st Stages, ready *os.File) error {
	cfgFile := os.NewFile(fdConfig, "config")
	defer cfgFile.Close()
	words := json.NewDecoder(cfgFile)
	var cfg Config
	if err := words.Decode(&cfg); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	unix.Umask(0o077)
	if err := os.Chdir("/"); err != nil {
		return err
	}
	// Caught, not ignored: what is ignored stays so over exec, down to the command.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT)
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)

	// Held by this process and the inner one: as long as either lives nobody
	// else mounts the same layers.
	ctx, cancel := context.WithTimeoutCause(context.Background(), 5*time.Second,
		fault.New(fault.Conflict, "start holder", "another holder of plan %s is ending or stuck", cfg.Plan))
	alive, err := lockFile(ctx, cfg.Dir, aliveName)
	cancel()
	if err != nil {
		return err
	}
	o := &outer{
		cfg: cfg, entries: map[int]*live{},
		stop: make(chan struct{}), innerGone: make(chan struct{}), touched: make(chan struct{}, 1),
	}
	if err := o.startInner(st, alive); err != nil {
		return err
	}
	defer o.endInner()
	var what held
	switch err := words.Decode(&what); {
	case errors.Is(err, io.EOF):
		return nil // whoever began it does not need it, or is gone
	case err != nil:
		return fmt.Errorf("read set-up: %w", err)
	}
	cfgFile.Close()
	o.cfg.Spec = what.Spec
	if err := o.link.Send(order{Op: "setup", Setup: what.Setup}); err != nil {
		return fmt.Errorf("hand on the set-up: %w", err)
	}
	l, err := listen(cfg.Dir)
	if err != nil {
		return err
	}
	defer l.Close()
	var ev event
	if _, err := o.link.Recv(&ev); err != nil {
		return fmt.Errorf("the inner process ended before it was ready: %w", err)
	}
	if ev.Event != "ready" {
		return ev.Failure.Err()
	}
	for _, n := range ev.Notices {
		fmt.Fprintln(os.Stderr, "holder: notice:", n)
	}
	self, err := procid.Self()
	if err != nil {
		return err
	}
	lease := Lease{Plan: cfg.Plan, Outer: self, Inner: o.innerP, Spec: cfg.Spec, Since: time.Now(), Version: leaseVersion}
	if err := writeLease(cfg.Dir, lease); err != nil {
		return err
	}
	defer os.Remove(filepath.Join(cfg.Dir, leaseName))
	defer os.Remove(filepath.Join(cfg.Dir, socketName))
	if err := json.NewEncoder(ready).Encode(reply{Lease: &lease}); err != nil {
		return fmt.Errorf("report readiness: %w", err)
	}
	ready.Close()
	o.serve(l, term)
	return nil
}

// startInner clones the inner process, which then waits for its set-up.
func (o *outer) startInner(st Stages, alive *os.File) error {
	attr, err := st.Attr(o.cfg)
	if err != nil {
		return err
	}
	attr.Pdeathsig = syscall.SIGKILL
	near, far, err := pair()
	if err != nil {
		return err
	}
	defer far.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	p, err := os.StartProcess(selfExe, []string{argv0, ArgInner, o.cfg.Plan}, &os.ProcAttr{
		Dir: "/", Env: SelfEnv("AMBIT_PLAN=" + o.cfg.Plan), Sys: attr,
		Files: []*os.File{null, os.Stderr, os.Stderr, far, alive},
	})
	if err != nil {
		near.Close()
		return fault.Wrap(fault.Unsupported, "start holder", fmt.Errorf("make namespaces: %w", err)).
			WithHint("`ambit doctor` says what this machine lacks; `--confine landlock` does without namespaces")
	}
	o.inner, o.link = p, near
	o.innerP, err = procid.Of(p.Pid)
	return err
}

// endInner kills the inner process, and with it every entry, and reaps it: from
// then on nothing of the plan runs and its mounts are gone.
func (o *outer) endInner() {
	_ = o.inner.Kill()
	_, _ = o.inner.Wait()
	o.link.Close()
}

// serve runs until the holder is told to end, is idle, or its inner process died.
func (o *outer) serve(l *net.UnixListener, term <-chan os.Signal) {
	idle := time.Duration(o.cfg.IdleNS)
	if idle <= 0 {
		idle = defaultIdle
	}
	linkDone := make(chan struct{})
	go func() { defer close(linkDone); o.listenInner() }()
	acceptDone := make(chan struct{})
	go func() { defer close(acceptDone); o.accept(l) }()

	timer := time.NewTimer(idle)
	defer timer.Stop()
loop:
	for {
		select {
		case <-term:
			break loop
		case <-o.stop:
			break loop
		case <-linkDone:
			fmt.Fprintln(os.Stderr, "holder: the inner process ended")
			break loop
		case <-timer.C:
			if o.quiesce() {
				break loop
			}
		case <-o.touched:
			timer.Reset(idle)
		}
	}
	o.mu.Lock()
	o.stopped = true
	o.mu.Unlock()
	l.Close()
	<-acceptDone
	o.endInner()
	<-linkDone
	o.mu.Lock()
	for id, e := range o.entries {
		o.finish(id, e, "the holder ended")
	}
	o.mu.Unlock()
	close(o.innerGone)
	o.handlers.Wait()
}

// quiesce stops new entries if there are none; it reports whether it did.
func (o *outer) quiesce() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.entries) > 0 {
		return false
	}
	o.stopped = true
	return true
}

// listenInner handles what the inner process reports, until its socket closes.
func (o *outer) listenInner() {
	for {
		var ev event
		files, err := o.link.Recv(&ev)
		closeAll(files)
		if err != nil {
			return
		}
		o.mu.Lock()
		e := o.entries[ev.ID]
		switch {
		case e == nil:
		case ev.Event == "spawned":
			e.PID = o.hostPID(ev.PID)
			e.begun <- ev
		case ev.Event == "failed":
			e.begun <- ev
			o.finish(ev.ID, e, "")
		case ev.Event == "gone":
			o.finish(ev.ID, e, ev.Status)
		}
		o.mu.Unlock()
	}
}

// finish records that an entry's tree is gone. The caller holds mu.
func (o *outer) finish(id int, e *live, how string) {
	e.how = how
	close(e.gone)
	delete(o.entries, id)
	select {
	case o.touched <- struct{}{}:
	default:
	}
}

// accept serves connections until the listener closes.
func (o *outer) accept(l *net.UnixListener) {
	for {
		u, err := l.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			fmt.Fprintln(os.Stderr, "holder: accept:", err)
			select { // out of descriptors: an entry that ends gives some back
			case <-o.innerGone:
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		o.handlers.Add(1)
		go func() {
			defer o.handlers.Done()
			o.handle(newConn(u))
		}()
	}
}
