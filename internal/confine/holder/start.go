//go:build linux

package holder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/procid"
)

// Dir returns the holder's folder of a plan.
func Dir(planDir string) string { return filepath.Join(planDir, "holder") }

// Client is an attachment to a plan's live holder.
type Client struct {
	dir   string
	lease Lease
}

// Start attaches to the plan's live holder if it holds exactly cfg.Spec. One
// that holds another spec is replaced when nothing runs in it, else the error is
// a conflict that names the entries. With none alive, setup is asked for the
// new holder's set-up and one is started, or begun completed; begun may be nil,
// and is used up in any case. Safe to call from several processes.
func Start(ctx context.Context, cfg Config, begun *Begun, setup func() (json.RawMessage, error)) (*Client, error) {
	defer func() { begun.Drop() }()
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fault.Wrap(fault.Unavailable, "open holder", err)
	}
	lock, err := lockFile(ctx, cfg.Dir, openName)
	if err != nil {
		return nil, fault.Wrap("", "open holder", err)
	}
	defer lock.Close()
	c, hello, err := attach(ctx, cfg.Dir)
	if err != nil {
		return nil, err
	}
	if c != nil {
		switch {
		case hello.Version == leaseVersion && hello.Spec == cfg.Spec:
			return c, nil
		case len(hello.Entries) > 0:
			return nil, fault.As(LiveEntries(hello.Entries)).
				WithHint("they run under another specification; wait for them or end them first")
		}
		if err := closeLive(ctx, cfg.Dir, false); err != nil {
			return nil, err
		}
	}
	if begun == nil {
		if begun, err = Begin(cfg); err != nil {
			return nil, err
		}
	}
	l, err := begun.complete(ctx, cfg.Spec, setup)
	if err != nil {
		return nil, err
	}
	return &Client{dir: cfg.Dir, lease: *l}, nil
}

// attach connects to the live holder in dir; nil when none lives. What a dead
// one left running is ended first.
func attach(ctx context.Context, dir string) (*Client, *reply, error) {
	l, ok, err := readLease(dir)
	if err != nil {
		return nil, nil, fault.Wrap(fault.Unavailable, "open holder", err)
	}
	if !ok {
		return nil, nil, nil
	}
	if !running(l.Outer) {
		return nil, nil, bury(ctx, l)
	}
	r, err := ask(dir, request{Op: opHello, Version: leaseVersion})
	if err != nil {
		// It is ending this moment, or hangs. Only the first resolves itself.
		wait, cancel := context.WithTimeoutCause(ctx, 3*time.Second, err)
		defer cancel()
		if werr := waitProcess(wait, l.Outer); werr != nil {
			return nil, nil, fault.Wrap(fault.Unavailable, "open holder", fmt.Errorf("holder %d does not answer: %w", l.Outer.PID, err)).
				WithHint("`kill %d` ends it and everything that runs in it", l.Outer.PID)
		}
		return nil, nil, bury(ctx, l)
	}
	return &Client{dir: dir, lease: l}, r, nil
}

// bury waits until nothing of a holder whose outer process died is left. The
// kernel kills the inner process with the outer one; the signal here is for a
// kernel that lost it.
func bury(ctx context.Context, l Lease) error {
	if err := killProcess(l.Inner); err != nil {
		return fault.Wrap(fault.Unavailable, "open holder", err)
	}
	if err := waitProcess(ctx, l.Inner); err != nil {
		return fault.Wrap("", "wait for the last holder's end", err)
	}
	return nil
}

// ask sends one request on a new connection and returns the answer.
func ask(dir string, req request) (*reply, error) {
	c, err := dial(dir)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.Send(req); err != nil {
		return nil, err
	}
	var r reply
	files, err := c.Recv(&r)
	closeAll(files)
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// logTail returns what the log has gained since from, bounded.
func logTail(dir string, from int64) string {
	f, err := os.Open(filepath.Join(dir, logName))
	if err != nil {
		return "no log: " + err.Error()
	}
	defer f.Close()
	b, _ := io.ReadAll(io.NewSectionReader(f, from, 2000))
	if s := strings.TrimSpace(string(b)); s != "" {
		return s
	}
	return "it left no word in its log"
}

// Close ends the plan's holder if one lives and returns when its whole process
// tree is gone. With live entries it is a conflict, unless force is set.
func Close(ctx context.Context, planDir string, force bool) error {
	dir := Dir(planDir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := lockFile(ctx, dir, openName)
	if err != nil {
		return fault.Wrap("", "close holder", err)
	}
	defer lock.Close()
	return closeLive(ctx, dir, force)
}

// closeLive is Close under the lock.
func closeLive(ctx context.Context, dir string, force bool) error {
	l, ok, err := readLease(dir)
	if err != nil {
		return fault.Wrap(fault.Unavailable, "close holder", err)
	}
	if !ok {
		return nil
	}
	if running(l.Outer) {
		r, err := ask(dir, request{Op: opClose, Version: leaseVersion, Force: force})
		switch {
		case err == nil && r.Failure != nil:
			return r.Failure.Err()
		case err != nil && running(l.Outer) && !force:
			return fault.Wrap(fault.Unavailable, "close holder", err)
		case err != nil:
			if err := killProcess(l.Outer); err != nil {
				return fault.Wrap(fault.Unavailable, "close holder", err)
			}
		}
		if err := waitProcess(ctx, l.Outer); err != nil {
			return fault.Wrap("", "close holder", err)
		}
	}
	reapStarted()
	return bury(ctx, l)
}

// Live lists the entries of the plan's holder; none when none lives.
func Live(ctx context.Context, planDir string) ([]engine.Entry, error) {
	l, ok, err := readLease(Dir(planDir))
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "list entries", err)
	}
	if !ok || !running(l.Outer) {
		return nil, nil
	}
	r, err := ask(Dir(planDir), request{Op: opHello, Version: leaseVersion})
	if err != nil {
		if !running(l.Outer) {
			return nil, nil
		}
		return nil, fault.Wrap(fault.Unavailable, "list entries", err)
	}
	if err := r.Failure.Err(); err != nil {
		return nil, err
	}
	return r.Entries, nil
}

// Inner returns the identity of the holder's inner process.
func (c *Client) Inner() procid.ID { return c.lease.Inner }

// Outer returns the identity of the holder's outer process.
func (c *Client) Outer() procid.ID { return c.lease.Outer }

// Dir returns the holder's folder.
func (c *Client) Dir() string { return c.dir }
