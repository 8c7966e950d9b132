//go:build linux

package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/procid"
	"golang.org/x/sys/unix"
)

// Warden runs the commands of one plan under one spec.
type Warden struct {
	PlanDir string
	Spec    string          // hash of the spec
	Arg     string          // first argument that starts the guard process
	Rules   json.RawMessage // for the guard's Seal
	// Env rewrites a command's environment; nil leaves it.
	Env func([]string) []string
	// NewToken names a command; it must be unguessable and fit a file name.
	NewToken func() string
}

// Open checks that nothing runs in the plan under another spec, and ends what a
// crash left.
func (w *Warden) Open(ctx context.Context) error {
	rs, err := records(w.PlanDir)
	if err != nil {
		return err
	}
	var others []engine.Entry
	for _, r := range rs {
		switch {
		case !r.alive():
			if err := r.sweep(ctx, w.PlanDir); err != nil {
				return fault.Wrap(fault.Unavailable, "open confinement", err)
			}
		case r.Spec != w.Spec:
			others = append(others, engine.Entry{Name: r.Name, PID: r.Guard.PID, Since: r.Since})
		}
	}
	if len(others) > 0 {
		return fault.As(holder.LiveEntries(others)).
			WithHint("they run under another specification; wait for them or end them first")
	}
	return nil
}

// Run runs a command; see engine.Cage.
func (w *Warden) Run(ctx context.Context, cmd engine.Command) (engine.Exit, error) {
	r := record{Token: w.NewToken(), Name: cmd.Name, Since: time.Now(), Spec: w.Spec}
	env := cmd.Env
	if w.Env != nil {
		env = w.Env(env)
	}
	env = append(env[:len(env):len(env)], mark+"="+r.Token)
	job := holder.Job{Argv: cmd.Argv, Dir: cmd.Dir, Env: env, Rules: w.Rules}
	//nolint:contextcheck // what is launched outlives a cancelled context: it waits for the end that was asked for
	return holder.Run(ctx, cmd, job, func(streams string, files []*os.File) (holder.Tree, error) {
		return w.launch(r, streams, files)
	})
}

// launch starts the guard process.
func (w *Warden) launch(r record, streams string, files []*os.File) (holder.Tree, error) {
	fail := func(err error) (holder.Tree, error) { return nil, fault.Wrap(fault.Unavailable, "run command", err) }
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fail(err)
	}
	defer null.Close()
	std := []*os.File{null, null, null}
	for i, s := range streams {
		std[strings.IndexRune("ioe", s)] = files[1+i]
	}
	// A session of its own: the terminal's Ctrl-C must not end the guard before it
	// has ended the command.
	attr := &syscall.SysProcAttr{Setsid: true}
	group, f := newGroup(r.Token)
	if f != nil {
		defer f.Close()
		attr.UseCgroupFD, attr.CgroupFD = true, int(f.Fd())
	}
	start := func() (*os.Process, error) {
		return os.StartProcess("/proc/self/exe", []string{"ambit", w.Arg}, &os.ProcAttr{
			Dir: "/", Env: holder.SelfEnv(), Files: append(std, files[0]), Sys: attr,
		})
	}
	p, err := start()
	if err != nil && f != nil {
		// A group that processes cannot be born in is as good as none.
		os.Remove(group)
		group, attr.UseCgroupFD = "", false
		p, err = start()
	}
	if err != nil {
		return fail(fmt.Errorf("start guard process: %w", err))
	}
	r.Group = group
	t := &tree{r: r, planDir: w.PlanDir, p: p, ended: make(chan struct{}), gone: make(chan error, 1)}
	id, err := procid.Of(p.Pid)
	if err == nil {
		t.r.Guard = id
		err = t.r.write(w.PlanDir)
	}
	if err != nil {
		// Without a record nobody else could end it; and it has no job yet.
		_ = p.Kill()
		_, _ = p.Wait()
		os.Remove(group)
		return fail(err)
	}
	go t.follow()
	return t, nil
}

// tree is a guard process and what it guards.
type tree struct {
	r       record
	planDir string
	p       *os.Process
	once    sync.Once
	ended   chan struct{} // closed when the guard was reaped
	gone    chan error
}

// graceful is how long a guard may take to end its tree before it is killed
// itself and the tree hunted down without it.
const graceful = 10 * time.Second

// Kill makes the guard end its tree.
func (t *tree) Kill() {
	t.once.Do(func() {
		_ = t.p.Signal(unix.SIGTERM)
		go func() {
			timer := time.NewTimer(graceful)
			defer timer.Stop()
			select {
			case <-t.ended:
			case <-timer.C:
				_ = t.p.Kill()
			}
		}()
	})
}

// Gone yields when nothing of the tree lives.
func (t *tree) Gone() <-chan error { return t.gone }

func (t *tree) follow() {
	st, err := t.p.Wait()
	close(t.ended)
	ctx, cancel := context.WithTimeoutCause(context.Background(), graceful, errors.New("some of its processes do not end"))
	defer cancel()
	if serr := t.r.sweep(ctx, t.planDir); serr != nil {
		t.gone <- serr
		return
	}
	switch {
	case err != nil:
		t.gone <- err
	case !st.Success():
		t.gone <- fmt.Errorf("its guard ended early: %s", st)
	default:
		t.gone <- nil
	}
}

// Close ends the plan's commands if force is set, else refuses while any runs. It
// returns when nothing of them is left.
func Close(ctx context.Context, planDir string, force bool) error {
	rs, err := records(planDir)
	if err != nil {
		return err
	}
	if live, err := Live(planDir); err != nil {
		return err
	} else if len(live) > 0 && !force {
		return holder.LiveEntries(live)
	}
	for _, r := range rs {
		if err := r.end(ctx); err != nil {
			return fault.Wrap("", "close confinement", err)
		}
		if err := r.sweep(ctx, planDir); err != nil {
			return fault.Wrap(fault.Unavailable, "close confinement", err)
		}
	}
	return nil
}

// end makes the record's guard end its tree and waits for it.
func (r record) end(ctx context.Context) error {
	if !r.alive() {
		return nil
	}
	fd, err := unix.PidfdOpen(r.Guard.PID, 0)
	if err != nil || !r.alive() {
		return nil
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	deadline := time.Now().Add(graceful)
	for {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 20)
		switch {
		case n > 0:
			return nil
		case err != nil && !errors.Is(err, unix.EINTR):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(deadline):
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			deadline = deadline.Add(graceful)
		}
	}
}
