//go:build linux

package holder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/procid"
)

// Enter runs a command in the holder; see Run.
func (c *Client) Enter(ctx context.Context, cmd engine.Command, rules json.RawMessage) (engine.Exit, error) {
	job := Job{Argv: cmd.Argv, Dir: cmd.Dir, Env: cmd.Env, Rules: rules}
	//nolint:contextcheck // what is launched outlives a cancelled context: it waits for the end that was asked for
	return Run(ctx, cmd, job, func(streams string, files []*os.File) (Tree, error) {
		return c.launch(cmd.Name, streams, files)
	})
}

// heldTree is an entry in a holder.
type heldTree struct {
	conn  *Conn
	inner procid.ID
	once  sync.Once
	gone  chan error
}

func (t *heldTree) Kill() {
	t.once.Do(func() { _ = t.conn.Send(request{Op: opKill, Version: leaseVersion}) })
}

func (t *heldTree) Gone() <-chan error { return t.gone }

// launch asks the holder for an entry and stays connected: the connection is
// what keeps the entry alive.
func (c *Client) launch(name, streams string, files []*os.File) (Tree, error) {
	conn, err := dial(c.dir)
	if err != nil {
		return nil, c.lost(err)
	}
	if err := conn.Send(request{Op: opRun, Version: leaseVersion, Name: name, Streams: streams}, files...); err != nil {
		conn.Close()
		return nil, c.lost(err)
	}
	var r reply
	got, err := conn.Recv(&r)
	closeAll(got)
	if err != nil {
		conn.Close()
		return nil, c.lost(err)
	}
	if err := r.Failure.Err(); err != nil {
		conn.Close()
		return nil, err
	}
	t := &heldTree{conn: conn, inner: c.lease.Inner, gone: make(chan error, 1)}
	go t.follow()
	return t, nil
}

// lost says that the holder cannot be reached.
func (c *Client) lost(err error) error {
	return fault.Wrap(fault.Unavailable, "enter holder", err).WithHint("the next command starts a new holder")
}

// follow waits for the holder's word that the tree is gone, or, when the holder
// died instead, for the kernel to have taken down the inner process.
func (t *heldTree) follow() {
	defer t.conn.Close()
	var r reply
	files, err := t.conn.Recv(&r)
	closeAll(files)
	if err == nil && r.Gone {
		if r.Status != "" {
			t.gone <- errors.New(r.Status)
			return
		}
		t.gone <- nil
		return
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Second, errors.New("it is stuck in the kernel"))
	defer cancel()
	if werr := waitProcess(ctx, t.inner); werr != nil {
		t.gone <- fmt.Errorf("the holder died and its inner process %d does not end: %w", t.inner.PID, werr)
		return
	}
	t.gone <- errors.New("the holder died, and the command with it")
}
