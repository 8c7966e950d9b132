package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/ambit-run/ambit/fault"
)

// interrupts turns signals into the end of a context.
type interrupts struct {
	paused atomic.Int32
	done   chan struct{}
	wait   sync.WaitGroup
	ch     chan os.Signal
	cancel context.CancelCauseFunc
}

// watchSignals returns a context that ends, with the signal as its cause, at the
// first SIGINT, SIGTERM or SIGHUP. The second one calls kill, which ends the
// process: its running step dies with it. A SIGHUP that was ignored when the
// process started (nohup) stays ignored.
func watchSignals(parent context.Context, kill func()) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancelCause(parent)
	in := &interrupts{done: make(chan struct{}), ch: make(chan os.Signal, 4), cancel: cancel}
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	signal.Notify(in.ch, signals...)
	in.wait.Go(func() {
		caught := 0
		for {
			select {
			case <-in.done:
				return
			case s := <-in.ch:
				if s == syscall.SIGINT && in.paused.Load() > 0 {
					continue
				}
				if caught++; caught > 1 {
					kill()
				}
				cancel(fault.New(fault.Canceled, "", "interrupted by %s", signalName(s)))
			}
		}
	})
	return ctx, in
}

// stop ends the watch.
func (in *interrupts) stop() {
	signal.Stop(in.ch)
	close(in.done)
	in.wait.Wait()
	in.cancel(nil)
}

// pause lets SIGINT pass unheard while a pager, which handles it itself, has the
// terminal. It returns the way back.
func (in *interrupts) pause() func() {
	if in == nil {
		return func() {}
	}
	in.paused.Add(1)
	return func() { in.paused.Add(-1) }
}

func signalName(s os.Signal) string {
	switch s {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return s.String()
}
