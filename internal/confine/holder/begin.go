//go:build linux

package holder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// Begun is a holder whose processes start but that holds nothing yet: it has
// namespaces and no mounts, no socket, no lease. It ends with the process that
// began it unless that completes it.
type Begun struct {
	cfg   Config
	p     *os.Process
	words *os.File // to it: what it shall hold
	ready *os.File // from it: one reply
	from  int64    // where its part of the log starts
}

// Begin starts a holder's processes. What it will hold need not be known, only
// what kind of namespaces it has. Start completes it, Drop ends it.
func Begin(cfg Config) (_ *Begun, err error) {
	fail := func(err error) (*Begun, error) { return nil, fault.Wrap(fault.Unavailable, "start holder", err) }
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return fail(err)
	}
	log, err := os.OpenFile(filepath.Join(cfg.Dir, logName), os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fail(err)
	}
	defer log.Close()
	b := &Begun{cfg: cfg}
	b.from, _ = log.Seek(0, io.SeekEnd)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fail(err)
	}
	defer null.Close()
	cfgR, words, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer cfgR.Close()
	ready, readyW, err := os.Pipe()
	if err != nil {
		words.Close()
		return fail(err)
	}
	defer readyW.Close()
	b.words, b.ready = words, ready
	b.p, err = os.StartProcess(selfExe, []string{argv0, ArgOuter, cfg.Plan}, &os.ProcAttr{
		Dir: "/", Env: SelfEnv("AMBIT_PLAN=" + cfg.Plan),
		Files: []*os.File{null, log, log, cfgR, readyW},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		words.Close()
		ready.Close()
		return fail(err)
	}
	remember(b.p)
	if err := b.send(cfg); err != nil {
		readyW.Close() // else its end could not be seen
		b.Drop()
		return fail(err)
	}
	return b, nil
}

// send tells the process something. One that has ended says why on the other pipe.
func (b *Begun) send(v any) error {
	if err := json.NewEncoder(b.words).Encode(v); err != nil && !errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("tell the holder: %w", err)
	}
	return nil
}

// held is what a holder is told to hold.
type held struct {
	Spec  string          `json:"spec"`  // its hash
	Setup json.RawMessage `json:"setup"` // for Stages.Build
}

// complete tells the holder what to hold and returns its lease when it is ready.
// The set-up is computed while the processes start: both take as long.
func (b *Begun) complete(ctx context.Context, spec string, setup func() (json.RawMessage, error)) (*Lease, error) {
	stop := context.AfterFunc(ctx, func() { _ = b.ready.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := setup()
	if err != nil {
		return nil, err
	}
	if err := b.send(held{Spec: spec, Setup: raw}); err != nil {
		return nil, fault.Wrap(fault.Unavailable, "start holder", err)
	}
	var r reply
	if err := json.NewDecoder(b.ready).Decode(&r); err != nil {
		if ctx.Err() != nil {
			_ = b.p.Kill()
			return nil, fault.Wrap("", "start holder", context.Cause(ctx))
		}
		return nil, fault.New(fault.Unavailable, "start holder", "the holder did not start: %s", logTail(b.cfg.Dir, b.from))
	}
	if err := r.Failure.Err(); err != nil {
		return nil, err
	}
	if r.Lease == nil {
		return nil, fault.New(fault.Internal, "start holder", "the holder is ready but sent no lease")
	}
	b.words.Close()
	b.ready.Close()
	b.words = nil
	return r.Lease, nil
}

// Drop ends a holder that was not completed, and returns when its process has
// ended. Nil and completed ones are left alone.
func (b *Begun) Drop() {
	if b == nil || b.words == nil {
		return
	}
	b.words.Close() // without being told what to hold it ends, and what it has started with it
	_ = b.ready.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.Copy(io.Discard, b.ready); err != nil {
		_ = b.p.Kill()
	}
	b.ready.Close()
	b.words = nil
	reapStarted()
}
