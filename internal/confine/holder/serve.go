//go:build linux

package holder

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// handle serves one connection: one request, and for a run its whole life.
func (o *outer) handle(c *Conn) {
	defer c.Close()
	if uid, err := c.peerUID(); err != nil || uid != os.Geteuid() {
		return
	}
	// The connection must not outlive the holder.
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-o.innerGone:
			_ = c.sock.CloseRead()
		case <-done:
		}
	}()
	var req request
	files, err := c.Recv(&req)
	if err != nil {
		return
	}
	defer closeAll(files)
	if req.Version != leaseVersion && req.Op != opClose {
		_ = c.Send(reply{Version: leaseVersion, Failure: failureOf(fault.New(fault.Stale, "enter holder",
			"the holder speaks version %d, this ambit version %d", leaseVersion, req.Version))})
		return
	}
	switch req.Op {
	case opHello:
		_ = c.Send(reply{Spec: o.cfg.Spec, Version: leaseVersion, Entries: o.list()})
	case opClose:
		o.close(c, req.Force)
	case opRun:
		o.run(c, req, files)
	default:
		_ = c.Send(reply{Failure: failureOf(fault.New(fault.Invalid, "enter holder", "unknown operation %q", req.Op))})
	}
}

// list returns the live entries, oldest first.
func (o *outer) list() []engine.Entry {
	o.mu.Lock()
	defer o.mu.Unlock()
	var es []engine.Entry
	for _, e := range o.entries {
		es = append(es, e.Entry)
	}
	slices.SortFunc(es, func(a, b engine.Entry) int { return a.Since.Compare(b.Since) })
	return es
}

// close ends the holder, unless entries live and force is not set.
func (o *outer) close(c *Conn, force bool) {
	if !force && !o.quiesce() {
		_ = c.Send(reply{Entries: o.list(), Failure: failureOf(LiveEntries(o.list()))})
		return
	}
	o.stopOnce.Do(func() { close(o.stop) })
	<-o.innerGone
	_ = c.Send(reply{Gone: true})
}

// LiveEntries is the refusal to close or replace a holder that is in use.
func LiveEntries(es []engine.Entry) error {
	names := make([]string, len(es))
	for i, e := range es {
		names[i] = e.Name
	}
	return fault.New(fault.Conflict, "close holder", "%d commands still run in the plan", len(es)).
		WithPaths(names...).WithHint("wait for them or end them first")
}

// run starts an entry and stays with it: when the client goes, the entry is killed.
func (o *outer) run(c *Conn, req request, files []*os.File) {
	refuse := func(err error) { _ = c.Send(reply{Failure: failureOf(err)}) }
	if len(files) != 1+len(req.Streams) {
		refuse(fault.New(fault.Invalid, "enter holder", "%d descriptors for streams %q", len(files), req.Streams))
		return
	}
	e := &live{Entry: engine.Entry{Name: req.Name, Since: time.Now()}, begun: make(chan event, 1), gone: make(chan struct{})}
	o.mu.Lock()
	if o.stopped {
		o.mu.Unlock()
		refuse(fault.New(fault.Unavailable, "enter holder", "the holder is ending"))
		return
	}
	o.next++
	id := o.next
	o.entries[id] = e
	o.mu.Unlock()
	select {
	case o.touched <- struct{}{}:
	default:
	}
	if err := o.link.Send(order{Op: "spawn", ID: id, Streams: req.Streams}, files...); err != nil {
		o.mu.Lock()
		if o.entries[id] != nil {
			o.finish(id, e, "")
		}
		o.mu.Unlock()
		refuse(fault.Wrap(fault.Unavailable, "enter holder", err))
		return
	}
	closeAll(files) // the entry has its own now; ours would keep its pipes open
	select {
	case ev := <-e.begun:
		_ = c.Send(reply{Failure: ev.Failure})
		if ev.Failure != nil {
			return
		}
	case <-e.gone:
		refuse(fault.New(fault.Unavailable, "enter holder", "%s", e.how))
		return
	}
	// Until the tree is gone, the client's word or its end kills it.
	watch := make(chan struct{})
	go func() {
		defer close(watch)
		var k request
		files, err := c.Recv(&k)
		closeAll(files)
		if err == nil && k.Op != opKill {
			fmt.Fprintf(os.Stderr, "holder: unexpected %q from a client\n", k.Op)
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, syscall.ECONNRESET) {
			fmt.Fprintln(os.Stderr, "holder: client:", err)
		}
		select {
		case <-e.gone:
		default:
			_ = o.link.Send(order{Op: "kill", ID: id})
		}
	}()
	<-e.gone
	_ = c.Send(reply{Gone: true, Status: e.how})
	_ = c.sock.CloseRead()
	<-watch
}
