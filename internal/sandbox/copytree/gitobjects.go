package copytree

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// objects copies the object directory and those it borrows from. Git may repack
// meanwhile: a pass in which something vanished is followed by another, which
// finds what it went into.
func (g *gitCopy) objects(ctx context.Context, tree *fsop.Dir) error {
	own := filepath.Join(g.info.CommonDir, "objects")
	from, err := alternates(own)
	if err != nil {
		return err
	}
	at := gitName + "/objects"
	for i, dir := range append([]string{own}, from...) {
		borrowed := i > 0
		for pass := 0; ; pass++ {
			vanished, err := g.copyObjects(ctx, tree, dir, at, borrowed)
			if err != nil {
				return err
			}
			if !vanished {
				break
			}
			if pass == 5 {
				return errChanging(dir)
			}
		}
	}
	if len(from) > 0 {
		g.c.notice("the repository borrows objects from %s; the copy has its own", strings.Join(from, ", "))
	}
	return nil
}

func (g *gitCopy) copyObjects(ctx context.Context, tree *fsop.Dir, dir, at string, borrowed bool) (vanished bool, err error) {
	d, err := g.c.strat.openRoot(dir)
	if err != nil {
		return false, err
	}
	defer d.Close()
	opts := g.c.options()
	opts.Exclude = func(p string, _ fsop.Info) bool {
		base := path.Base(p)
		switch {
		case p == "info/alternates", strings.HasPrefix(base, "tmp_"), strings.HasSuffix(base, ".lock"), strings.HasPrefix(base, "incoming-"):
			return true
		}
		// Indexes over packs and commits describe one directory only.
		return borrowed && (p == "info" || strings.HasPrefix(base, "multi-pack-index"))
	}
	opts.Entry = g.learn(at)
	if g.c.req.Progress != nil {
		opts.Progress = func(st fsop.CopyStats) {
			g.c.req.Progress(engine.Progress{Phase: "copy objects", Done: st.BytesDone, Unit: "bytes"})
		}
	}
	st, err := fsop.CopyTree(ctx, d, ".", tree, at, opts)
	if err != nil {
		return false, err
	}
	g.c.count(st)
	for _, sk := range st.Skipped {
		if sk.Reason == "vanished" {
			vanished = true
			continue
		}
		return false, fault.New(fault.Denied, "", "%s cannot be copied: %s", filepath.Join(dir, sk.Path), sk.Reason).
			WithHint("a repository without all its objects is of no use; make them readable, or use overlay")
	}
	return vanished, nil
}
