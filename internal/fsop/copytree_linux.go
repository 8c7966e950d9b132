package fsop

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// CopyTree copies the directory srel of src into the directory drel of dst, which
// is made if it is missing; entries of that name are replaced, never followed or
// written through; entries the source does not have stay. So a copy that was
// interrupted is simply made again.
//
// Files are copied by a few workers as CopyFile does. Nothing is ever
// hard-linked to the source; names that share an inode inside the tree share one
// in the copy. FIFOs, sockets and devices are not opened but listed in Skipped;
// what cannot be kept is listed in Lost. Directories get their mode, attributes
// and time last, bottom-up. The number of descriptors is constant whatever the
// tree. The source should hold still: what vanishes meanwhile is listed.
func CopyTree(ctx context.Context, src *Dir, srel string, dst *Dir, drel string, opts TreeOptions) (CopyStats, error) {
	opts.Replace = true
	if drel != "." {
		if err := dst.Mkdir(drel, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return CopyStats{}, err
		}
	}
	from, err := src.descend("copy tree", srel)
	if err != nil {
		return CopyStats{}, err
	}
	defer from.close()
	if err := openUp(dst, drel); err != nil {
		return CopyStats{}, err
	}
	to, err := dst.descend("copy tree", drel)
	if err != nil {
		return CopyStats{}, err
	}
	defer to.close()
	if from.levels[0].id == to.levels[0].id {
		return CopyStats{}, fault.New(fault.Invalid, "copy tree", "%s is the source itself", show(dst.abs(drel)))
	}
	t := &treeCopy{
		opts: opts, from: from, to: to, srel: srel, drel: drel, start: from.levels[0].id, target: to.levels[0].id,
		copier: copier{opts: opts.CopyOptions, stripACL: hasDefaultACL(to.fd())},
		first:  map[inode]*linkGroup{},
	}
	if opts.Progress != nil {
		t.done = t.tally
	}
	err = t.run(ctx)
	t.sortLists()
	return t.stats, fail("copy tree", dst.abs(drel), err)
}

// openUp makes an existing destination directory accessible; its final mode
// comes at the end.
func openUp(dst *Dir, drel string) error {
	info, err := dst.Stat(drel)
	if err != nil {
		return err
	}
	if info.Kind == KindDir && info.Mode&0o700 != 0o700 {
		return dst.Chmod(drel, info.Mode|0o700)
	}
	return nil
}

type treeCopy struct {
	copier
	opts          TreeOptions
	from, to      *descent
	start, target Identity
	srel, drel    string

	bytes atomic.Int64 // CopyStats.BytesDone
	told  atomic.Int64 // what of it Progress was told last

	mu    sync.Mutex // guards what follows and serialises the callbacks
	stats CopyStats
	first map[inode]*linkGroup
	links []linkLater
}

type inode struct{ dev, ino uint64 }

// linkGroup is one source inode with several names.
type linkGroup struct {
	path      string // the first one met, relative to the start
	copied    bool
	sha256    string
	reflinked bool
}

type linkLater struct {
	group *linkGroup
	path  string
	info  Info
}

func (t *treeCopy) run(ctx context.Context) error {
	workers := t.workers()
	g, gctx := errgroup.WithContext(ctx)
	work := make(chan batch, workers)
	for range workers {
		g.Go(func() error {
			for b := range work {
				err := t.copyBatch(gctx, b)
				b.close()
				if err != nil {
					for b := range work { // let the walker go, and its descriptors
						b.close()
					}
					return err
				}
			}
			return nil
		})
	}
	root := &dirNode{}
	g.Go(func() error {
		defer close(work)
		w := &treeWalk{t: t, work: work, node: root}
		return w.run(gctx)
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if err := t.makeLinks(ctx); err != nil {
		return err
	}
	return t.finishDirs(ctx, root)
}

// workers is how many files are copied at once: each worker holds two files, its
// batch two directories, and as many batches wait.
func (t *treeCopy) workers() int {
	n := t.opts.Workers
	if n <= 0 {
		n = min(max(runtime.NumCPU(), 2), 16)
	}
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) == nil && lim.Cur < 512 {
		spare := (int(lim.Cur) - 2*keepOpen - 24) / 8
		n = max(1, min(n, spare))
	}
	return n
}

// Paths in lists and callbacks are relative to the start on either side; these
// convert between them and paths relative to the two Dirs.
func (t *treeCopy) srcRel(path string) string { return below(t.srel, path) }
func (t *treeCopy) dstRel(path string) string { return below(t.drel, path) }
func (t *treeCopy) srcPath(rel string) string { return Join(t.srel, rel) }
func (t *treeCopy) dstPath(rel string) string { return Join(t.drel, rel) }

// below spells path relative to the directory start that holds it.
func below(start, path string) string {
	switch {
	case start == ".":
		return path
	case path == start:
		return "."
	}
	return path[len(start)+1:]
}

func (t *treeCopy) skip(path, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Skipped = append(t.stats.Skipped, Skipped{path, reason})
}

func (t *treeCopy) lost(path string, names []string) {
	if len(names) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range names {
		t.stats.Lost = append(t.stats.Lost, Skipped{path, n})
	}
}

// unreadable decides about a source entry that cannot be opened.
func (t *treeCopy) unreadable(path string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		t.skip(path, "vanished")
		return nil
	case t.opts.SkipUnreadable && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)):
		t.skip(path, "unreadable: permission denied")
		return nil
	}
	return lookupFail("copy tree", t.from.dir.abs(t.srcPath(path)), err)
}

func (t *treeCopy) sortLists() {
	byPath := func(a, b Skipped) int {
		if a.Path != b.Path {
			if a.Path < b.Path {
				return -1
			}
			return 1
		}
		return 0
	}
	slices.SortStableFunc(t.stats.Skipped, byPath)
	slices.SortStableFunc(t.stats.Lost, byPath)
	slices.Sort(t.stats.Unstable)
}
