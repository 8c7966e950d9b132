package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx"
)

// contents writes each new file into a folder of ours and the change it makes
// into the set for the files' target.
func (c *checkout) contents(ctx context.Context) error {
	if err := os.MkdirAll(c.file("work/new"), 0o700); err != nil {
		return fault.Wrap(fault.Internal, "stage files", err)
	}
	var steps []*step
	var ids []string
	for i := range c.plan.Steps {
		s := &c.plan.Steps[i]
		switch {
		case !s.File:
		case s.IndexAfter.ID == "":
			c.change(s)
		default:
			steps, ids = append(steps, s), append(ids, s.IndexAfter.ID)
		}
	}
	var differ []*step
	err := c.view.CatFiles(ctx, ids, func(i int, o gitx.Object) error {
		s := steps[i]
		if s.IndexAfter.Mode == gitx.ModeSymlink {
			return c.link(s, o)
		}
		if err := c.write(s, o.R); err != nil {
			return err
		}
		if ch := c.sandbox[string(s.Path)]; ch != nil && ch.After.Kind == changeset.File && ch.After.Hash != s.After.Sum {
			differ = append(differ, s)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.sandboxBytes(ctx, differ); err != nil {
		return err
	}
	for _, s := range steps {
		c.change(s)
	}
	return nil
}

func (c *checkout) change(s *step) {
	ch := &changeset.Change{Path: string(s.Path), Op: changeset.Modified, Before: s.Before.entry(), After: s.After.entry()}
	switch {
	case ch.Before == nil:
		ch.Op = changeset.Created
	case ch.After == nil:
		ch.Op = changeset.Deleted
	}
	c.set[ch.Path] = ch
}

func (c *checkout) link(s *step, o gitx.Object) error {
	target, err := io.ReadAll(io.LimitReader(o.R, 4096))
	if err != nil {
		return err
	}
	if len(target) == 0 || len(target) > 4095 || strings.Contains(string(target), "\x00") {
		return fault.New(fault.Invalid, "apply", "%q would be a link that this system cannot make", s.Path).WithPaths(string(s.Path))
	}
	s.After = side{Kind: changeset.Symlink, Link: target}
	return nil
}

// write keeps one file's new contents and records what it is to be.
func (c *checkout) write(s *step, r io.Reader) (err error) {
	path := string(s.Path)
	if c.staged[path] == "" {
		c.staged[path] = c.file(fmt.Sprintf("work/new/%06d", len(c.staged)))
	}
	f, err := os.OpenFile(filepath.Clean(c.staged[path]), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.Wrap(fault.Internal, "stage "+path, err)
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), r)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fault.Wrap(writeCode(err), "stage "+path, err)
	}
	s.After = side{Kind: changeset.File, Mode: c.mode(s), Size: n, Sum: hex.EncodeToString(h.Sum(nil))}
	return nil
}

// sandboxBytes replaces what a blob holds by what the sandbox's checkout holds,
// where the two differ because an attribute or setting converts the file. No
// smudge filter runs here; the sandbox has run it.
func (c *checkout) sandboxBytes(ctx context.Context, steps []*step) error {
	if len(steps) == 0 || c.req.Src == nil {
		return nil
	}
	paths := make([]string, len(steps))
	for i, s := range steps {
		paths[i] = string(s.Path)
	}
	index := c.view.WithWorkTree("").WithIndex(c.file("work/index-new"))
	if err := index.ReadTree(ctx, c.New); err != nil {
		return err
	}
	attrs, err := index.AttributesOf(ctx, conversions, paths)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if attrs[string(s.Path)] == nil && !c.plain.ConvertsLines() {
			continue // the sandbox has moved on since its last commit; the commit counts
		}
		if c.planTip != "" && !c.fromPlan(ctx, s) {
			continue // merged from both sides: only the blob is right
		}
		in, err := c.req.Src.Open(changeset.After, string(s.Path))
		if err != nil {
			return fault.Wrap("", "read "+string(s.Path), err)
		}
		err = c.write(s, in)
		_ = in.Close() // read only
		if err != nil {
			return err
		}
	}
	return nil
}

// fromPlan reports whether the published blob is the plan's own.
func (c *checkout) fromPlan(ctx context.Context, s *step) bool {
	id, err := c.view.RevID(ctx, c.planTip+":"+string(s.Path))
	return err == nil && id == s.IndexAfter.ID
}

// mode is the mode of a new or changed file: the sandbox's where it set one, else
// the present one, with the executable bits that git records.
func (c *checkout) mode(s *step) uint32 {
	mode := uint32(0o666) &^ umask()
	if s.Before.Kind == changeset.File {
		mode = s.Before.Mode
	}
	if ch := c.sandbox[string(s.Path)]; ch != nil && ch.After.Kind == changeset.File &&
		(ch.Op != changeset.Modified || ch.Before == nil || ch.Before.Kind != changeset.File || ch.Before.Mode != ch.After.Mode) {
		mode = ch.After.Mode
		if !c.req.AllowSetuid {
			mode &^= 0o7000 // V42
		}
	}
	if s.IndexAfter.Mode == gitx.ModeExec {
		return mode | 0o100 | (mode&0o444)>>2
	}
	return mode &^ 0o111
}

// stagedSource reads the new contents that wait in files of ours.
type stagedSource map[string]string

// Open opens one. Old contents are not kept here.
func (s stagedSource) Open(side changeset.Side, path string) (io.ReadCloser, error) {
	name := s[path]
	if side != changeset.After || name == "" {
		return nil, fault.New(fault.NotFound, "read staged file", "%q is not staged", path)
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "read staged file", err)
	}
	return f, nil
}

// umask reads the process's file mode mask without changing it.
func umask() uint32 {
	data, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.SplitSeq(string(data), "\n") {
			if v, ok := strings.CutPrefix(line, "Umask:"); ok {
				if n, err := strconv.ParseUint(strings.TrimSpace(v), 8, 32); err == nil {
					return uint32(n)
				}
			}
		}
	}
	return 0o022
}
