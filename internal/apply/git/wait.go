package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// wait writes each new file into the stage, on the checkout's own file system,
// durable, with its final mode.
func (c *checkout) wait(ctx context.Context) error {
	var steps []*step
	var ids []string
	for i := range c.plan.Steps {
		s := &c.plan.Steps[i]
		if s.Slot != "" && s.IndexAfter.ID != "" {
			steps, ids = append(steps, s), append(ids, s.IndexAfter.ID)
		}
	}
	var differ []*step
	err := c.view.CatFiles(ctx, ids, func(i int, o gitx.Object) error {
		s := steps[i]
		if s.IndexAfter.Mode == gitx.ModeSymlink {
			return c.waitLink(s, o)
		}
		if err := c.waitFile(s, o.R); err != nil {
			return err
		}
		if ch := c.wanted()[string(s.Path)]; ch != nil && ch.After.Kind == changeset.File && ch.After.Hash != s.After.Sum {
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
	return c.stage.Sync()
}

func (c *checkout) waitLink(s *step, o gitx.Object) error {
	target, err := io.ReadAll(io.LimitReader(o.R, 4096+1))
	if err != nil {
		return err
	}
	if len(target) == 0 || len(target) > 4095 || strings.Contains(string(target), "\x00") {
		return fault.New(fault.Invalid, "apply", "%q would be a link that this system cannot make", s.Path).WithPaths(string(s.Path))
	}
	s.After = side{Kind: symlink, Link: target}
	if err := c.stage.Symlink(string(target), s.Slot); err != nil {
		return err
	}
	return c.adopt(s)
}

// waitFile writes one file and records what it is.
func (c *checkout) waitFile(s *step, r io.Reader) (err error) {
	mode := c.mode(s)
	f, err := c.stage.Create(s.Slot, mode)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = fault.Wrap(fault.Internal, "write "+string(s.Path), closeErr)
		}
	}()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), r)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fault.Wrap(writeCode(err), "write "+string(s.Path), err)
	}
	s.After = side{Kind: file, Mode: mode, Size: n, Sum: hex.EncodeToString(h.Sum(nil))}
	return c.adopt(s)
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
		if err = c.stage.Remove(s.Slot); err == nil {
			err = c.waitFile(s, in)
		}
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
	if s.Before.Kind == file {
		mode = s.Before.Mode
	}
	if ch := c.wanted()[string(s.Path)]; ch != nil && ch.After.Kind == changeset.File &&
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

// adopt gives a waiting file the owner of the file it replaces, or of the
// checkout, when ambit runs as root.
func (c *checkout) adopt(s *step) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := c.root.Stat(string(s.Path))
	if err != nil {
		if info, err = c.root.Stat("."); err != nil {
			return err
		}
	}
	if info.UID == 0 && info.GID == 0 {
		return nil
	}
	if err := c.stage.Chown(s.Slot, int(info.UID), int(info.GID)); err != nil || s.After.Kind != file {
		return err
	}
	return c.stage.Chmod(s.Slot, s.After.Mode) // chown clears setuid
}

// keepOld copies what is replaced or removed into the plan's folder.
func (c *checkout) keepOld(ctx context.Context) error {
	for i := range c.plan.Steps {
		s := &c.plan.Steps[i]
		if s.Slot == "" || s.Before.Kind == absent {
			continue
		}
		if err := c.keep.RemoveAll(s.Slot); err != nil {
			return err
		}
		if s.Before.Kind == symlink {
			if err := c.keep.Symlink(string(s.Before.Link), s.Slot); err != nil {
				return err
			}
			continue
		}
		res, err := fsop.CopyFile(ctx, c.root, string(s.Path), c.keep, s.Slot, fsop.CopyOptions{Hash: true, Sync: true})
		if err != nil {
			return err
		}
		if res.SHA256 != s.Before.Sum {
			return conflict([]string{string(s.Path)}, "a file changed while it was looked at")
		}
	}
	return c.keep.Sync()
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

func writeCode(err error) fault.Code {
	if code := fault.CodeOf(err); code != fault.Internal {
		return code
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.Unavailable
	}
	return fault.Internal
}
