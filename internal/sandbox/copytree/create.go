package copytree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Create makes the copy. The state file is written last: a folder without it is
// a creation that a crash cut off and is begun again from nothing; with it the
// sandbox is whole and Create only opens it. When ctx has a deadline and it
// passes, the code is timeout.
func (s *Strategy) Create(ctx context.Context, req engine.CreateRequest) (engine.Sandbox, error) {
	sb, err := s.create(ctx, req)
	if err != nil {
		return nil, edge("create sandbox", err)
	}
	return sb, nil
}

func (s *Strategy) create(ctx context.Context, req engine.CreateRequest) (*Sandbox, error) {
	rec := engine.SandboxRecord{
		ID: req.ID, Plan: req.Plan, Resource: req.Resource, Strategy: s.name, Confined: req.Confined,
		Dir: req.Dir, BasesDir: req.BasesDir, Status: engine.SandboxReady,
	}
	sb, err := s.attach(rec)
	if err == nil && !sb.st.Destroying {
		return sb, nil
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if err := apart(req.Resource.Path, req.Dir); err != nil {
		return nil, err
	}
	dir, err := s.openRoot(req.Dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	// The state file first: without it whatever is left counts for nothing.
	if err := dir.RemoveAll(stateFile); err != nil {
		return nil, err
	}
	if err := dir.RemoveAll("."); err != nil {
		return nil, fmt.Errorf("clear what an interrupted creation left: %w", err)
	}
	c := &creation{strat: s, req: req, dir: dir, began: s.clock(), known: map[string]string{}, st: &state{
		Format: stateFormat, Strategy: s.name, Plan: req.Plan, ID: req.ID, Confined: req.Confined,
		Lower: req.Lower, Dirty: req.Dirty, CreatedAt: req.Now, Next: 1, Timings: map[string]float64{},
	}}
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	return &Sandbox{strat: s, st: c.st, dirPath: req.Dir, rec: rec}, nil
}

// creation is one making of a sandbox.
type creation struct {
	strat *Strategy
	req   engine.CreateRequest
	dir   *fsop.Dir // req.Dir
	st    *state
	began time.Time // of the phase that is under way

	known    map[string]string // path → raw hash of what was copied
	pointers []string          // `.git` files below the root
	skipped  []changeset.Skip
}

// phase records how long the part of the work that has just ended took (C50).
func (c *creation) phase(name string) {
	now := c.strat.clock()
	c.st.Timings[name] += float64(now.Sub(c.began).Microseconds()) / 1000
	c.began = now
}

func (c *creation) notice(format string, args ...any) {
	c.st.Notices = append(c.st.Notices, fmt.Sprintf(format, args...))
}

func (c *creation) run(ctx context.Context) error {
	src, err := c.strat.openRoot(c.req.Resource.Path)
	if err != nil {
		return err
	}
	defer src.Close()
	for _, d := range []string{manifestsDir, objectsDir} {
		if err := c.dir.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	var git *gitCopy
	if c.strat.fill != nil {
		err = c.filled(ctx)
	} else {
		git, err = c.copied(ctx, src)
	}
	if err != nil {
		return err
	}
	tree, err := c.dir.OpenDir(treeDir)
	if err != nil {
		return err
	}
	defer tree.Close()
	if git != nil {
		if err := git.run(ctx, tree); err != nil {
			return fmt.Errorf("copy the repository: %w", err)
		}
		c.phase("git")
	}
	sc := scanner{strat: c.strat, dir: c.dir, tree: tree, known: c.known, force: true, fresh: true}
	m, unreadable, err := sc.scan(ctx)
	if err = errors.Join(err, sc.close()); err != nil {
		return err
	}
	m.skipped = append(c.skipped, unreadable...)
	c.leadingOut(m)
	if c.req.Resource.Git != nil {
		if err := c.strat.storeContents(ctx, c.dir, tree, m, c.madeHere); err != nil {
			return err
		}
	}
	name, err := saveManifest(c.dir, c.st, m)
	if err != nil {
		return err
	}
	c.st.Scan = name
	c.st.Checkpoints = []checkpoint{{Name: engine.CheckpointCreation, Manifest: name}}
	c.phase("manifest")
	return c.st.save(c.dir)
}

// copied makes the tree by copying the resource; its repository follows.
func (c *creation) copied(ctx context.Context, src *fsop.Dir) (git *gitCopy, err error) {
	if c.req.Resource.Git != nil {
		if git, err = c.readGit(ctx); err != nil {
			return nil, err
		}
	}
	c.phase("prepare")
	if err := c.copyTree(ctx, src); err != nil {
		return nil, err
	}
	c.phase("copy")
	return git, nil
}

// madeHere tells which files of a checkout's creation must be stored at once:
// those of its git directory, which the real resource has elsewhere, otherwise
// or not at all. Objects that were copied never change, so the first checkpoint
// is early enough for them; those that a Filler made are few, and nobody else has them.
func (c *creation) madeHere(e *entry) bool {
	if !underGit(e.path) {
		return slices.Contains(c.pointers, e.path)
	}
	return c.strat.fill != nil || !strings.HasPrefix(e.path, gitObjects+"/") || c.known[e.path] == ""
}

// options are common to every copy out of the real resource.
func (c *creation) options() fsop.TreeOptions {
	return fsop.TreeOptions{
		CopyOptions: fsop.CopyOptions{Hash: true, NoReflink: c.strat.noReflink()},
		Workers:     c.strat.workers, CrossMounts: true, SkipUnreadable: true,
	}
}

// noReflink: an independent copy shares nothing with the original.
func (s *Strategy) noReflink() bool { return s.name == engine.StrategyFilesystemCopy }

// copyTree copies the resource without its own git directory.
func (c *creation) copyTree(ctx context.Context, src *fsop.Dir) error {
	opts := c.options()
	git := c.req.Resource.Git != nil
	opts.Exclude = func(path string, _ fsop.Info) bool { return git && path == gitName }
	opts.Entry = func(path string, info fsop.Info, sha256 string, _ bool) {
		if sha256 != "" {
			c.known[path] = rawOf(sha256)
		}
		if git && info.Kind == fsop.KindFile && strings.HasSuffix(path, "/"+gitName) {
			c.pointers = append(c.pointers, path)
		}
	}
	if c.req.Progress != nil {
		opts.Progress = func(st fsop.CopyStats) {
			c.req.Progress(engine.Progress{Phase: "copy", Done: st.BytesDone, Total: c.req.Expect, Unit: "bytes"})
		}
	}
	st, err := fsop.CopyTree(ctx, src, ".", c.dir, treeDir, opts)
	if err != nil {
		return err
	}
	c.count(st)
	c.list("", st)
	// Which of the files were shared and which copied (O21).
	switch {
	case st.Reflinked == 0:
		c.notice("copied %d files, %s; none shares its blocks with the original", st.Copied, amount(st.BytesCopied))
	case st.Copied == 0:
		c.notice("%d files, %s, share their blocks with the original until one side changes", st.Reflinked, amount(st.BytesReflinked))
	default:
		c.notice("%d files, %s, share their blocks with the original; %d files, %s, are copied", st.Reflinked, amount(st.BytesReflinked), st.Copied, amount(st.BytesCopied))
	}
	return nil
}

func (c *creation) count(st fsop.CopyStats) {
	c.st.Copied.Files += st.Copied
	c.st.Copied.Bytes += st.BytesCopied
	c.st.Shared.Files += st.Reflinked
	c.st.Shared.Bytes += st.BytesReflinked
}
