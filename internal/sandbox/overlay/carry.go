package overlay

import (
	"context"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// carrier copies the person's uncommitted work into a layer over the base.
type carrier struct {
	live, layer *fsop.Dir
	hidden      map[string]bool // whiteouts that were made
	add, drop   []string        // for the sandbox's index
}

// carry makes the layer, and a commit of it in the sandbox's own objects, which
// the plan's commits stand on: git status inside is clean, and what a step
// commits is the step's alone. Blobs are written without filters: a file that
// Git LFS would clean goes into that commit as it is, and it is never published.
func (c *creation) carry(ctx context.Context, lower *fsop.Dir, bases *repoBases, f *freezer, dirty gitx.Dirty) error {
	st := c.sb.st
	if err := c.dir.Mkdir(carryDir, 0o700); err != nil {
		return err
	}
	layer, err := c.dir.OpenDir(carryDir)
	if err != nil {
		return err
	}
	defer layer.Close()
	cr := &carrier{live: lower, layer: layer, hidden: map[string]bool{}}
	links := map[string]bool{}
	for _, s := range dirty.Staged {
		links[s.Path] = s.NewMode == gitx.ModeGitlink || s.OldMode == gitx.ModeGitlink
	}
	var gone []string
	paths := dirty.Paths()
	sort.Strings(paths)
	for _, p := range paths {
		switch state, err := cr.take(ctx, p, links[p]); {
		case err != nil:
			return fmt.Errorf("carry %q: %w", p, err)
		case state == carryGone:
			gone = append(gone, p)
		case state == carryRepo:
			c.notice("%s is a repository of its own with work in it: it stays behind", strings.TrimSuffix(p, "/"))
		case state == carrySpecial:
			c.notice("%s is no ordinary file: it stays behind", p)
		}
	}
	for _, p := range gone {
		if err := cr.hide(p); err != nil {
			return fmt.Errorf("carry the deletion of %q: %w", p, err)
		}
	}
	if n := len(dirty.Unmerged); n > 0 {
		c.notice("%d files have unresolved conflicts: they are carried as they stand, markers included", n)
	}
	if len(cr.add)+len(cr.drop) == 0 {
		return c.dir.Remove(carryDir)
	}
	st.Tree.Bottom = append([]layerRef{{Kind: layerCarry, Path: filepath.Join(c.req.Dir, carryDir)}}, st.Tree.Bottom...)
	return c.carryCommit(ctx, bases, f, cr)
}

type carryState int

const (
	carryTaken carryState = iota
	carryGone
	carryRepo
	carrySpecial
)

// take copies one path as it is in the live tree now.
func (cr *carrier) take(ctx context.Context, path string, gitlink bool) (carryState, error) {
	if strings.HasSuffix(path, "/") || gitlink {
		return carryRepo, nil
	}
	info, err := cr.live.Stat(path)
	if err != nil {
		if absent(err) == nil {
			return carryGone, nil
		}
		return 0, err
	}
	switch info.Kind {
	case fsop.KindDir:
		// A submodule, or a directory where the commit has a file: what is in it
		// is listed path by path.
		if _, err := cr.live.Stat(path + "/.git"); err == nil {
			return carryRepo, nil
		}
		return carryGone, nil
	case fsop.KindFile:
		if err := cr.parents(path); err != nil {
			return 0, err
		}
		for tries := 0; ; tries++ {
			res, err := fsop.CopyFile(ctx, cr.live, path, cr.layer, path, fsop.CopyOptions{Replace: true})
			switch {
			case err != nil && absent(err) == nil:
				return carryGone, nil
			case err != nil:
				return 0, err
			case !res.Unstable:
				cr.add = append(cr.add, path)
				return carryTaken, nil
			case tries == 5:
				return 0, fault.New(fault.Unavailable, "", "it is being written to all the time").WithHint("try again when nothing writes to it")
			}
		}
	case fsop.KindSymlink:
		if err := cr.parents(path); err != nil {
			return 0, err
		}
		text, err := cr.live.Readlink(path)
		if err != nil {
			return 0, err
		}
		cr.add = append(cr.add, path)
		return carryTaken, cr.layer.Symlink(text, path)
	default:
		return carrySpecial, nil
	}
}

// parents makes the directories above a path, each like the live one.
func (cr *carrier) parents(path string) error { return mkdirsLike(cr.layer, cr.live, path) }

func mkdirsLike(layer, like *fsop.Dir, path string) error {
	dir, _ := fsop.SplitRel(path)
	if dir == "." {
		return nil
	}
	if _, err := layer.Stat(dir); err == nil {
		return nil
	}
	if err := mkdirsLike(layer, like, dir); err != nil {
		return err
	}
	mode := uint32(0o755)
	if info, err := like.Stat(dir); err == nil {
		mode = info.Mode
	}
	return layer.Mkdir(dir, mode)
}

// hide puts a whiteout for a path that the live tree does not have, at the
// highest directory that is gone with it. A path below something that was
// carried in the place of its directory is hidden by that already.
func (cr *carrier) hide(path string) error {
	cr.drop = append(cr.drop, path)
	at := ""
	for rest := path; ; {
		var name string
		name, rest = cut(rest)
		at = fsop.Join(at, name)
		if cr.hidden[at] {
			return nil
		}
		if info, err := cr.layer.Stat(at); err == nil && (info.Kind != fsop.KindDir || rest == "") {
			return nil
		}
		info, err := cr.live.Stat(at)
		if rest == "" || absentOrNoDir(info, err) {
			break
		}
	}
	if err := cr.parents(at); err != nil {
		return err
	}
	cr.hidden[at] = true
	return whiteout(cr.layer, at)
}

func absentOrNoDir(info fsop.Info, err error) bool {
	return err != nil || info.Kind != fsop.KindDir
}

// carryCommit commits the layer, in the sandbox's own index and objects.
func (c *creation) carryCommit(ctx context.Context, bases *repoBases, f *freezer, cr *carrier) error {
	st := c.sb.st
	objects := fsop.Join(f.at.common, "objects")
	if err := f.mkdirs(objects); err != nil {
		return err
	}
	repo := bases.repo.
		WithWorkTree(filepath.Join(c.req.Dir, carryDir)).
		WithIndex(filepath.Join(f.layer.Name(), f.at.gitDir, "index")).
		WithObjects(filepath.Join(f.layer.Name(), objects))
	list := func(paths []string) *strings.Reader {
		return strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	}
	if len(cr.drop) > 0 {
		if _, err := repo.Run(ctx, gitx.Opts{Stdin: list(cr.drop)}, "update-index", "-z", "--force-remove", "--stdin"); err != nil {
			return err
		}
	}
	if len(cr.add) > 0 {
		if _, err := repo.Run(ctx, gitx.Opts{Stdin: list(cr.add)}, "update-index", "-z", "--add", "--replace", "--stdin"); err != nil {
			return err
		}
	}
	tree, err := repo.Output(ctx, gitx.Opts{}, "write-tree")
	if err != nil {
		return err
	}
	baseTree, err := repo.TreeOf(ctx, st.Base)
	if err != nil || tree == baseTree {
		return err // what differed is nothing that git keeps, a mode bit for instance
	}
	when := fmt.Sprintf("%d +0000", c.when().Unix())
	const name, mail = "ambit", "ambit@localhost"
	env := []string{
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_AUTHOR_DATE=" + when,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + mail, "GIT_COMMITTER_DATE=" + when,
	}
	msg := "Uncommitted work at the start of " + st.Plan + "\n\nMade by ambit for the sandbox alone; it is never published.\n"
	id, err := repo.Output(ctx, gitx.Opts{Stdin: strings.NewReader(msg), Env: env, Values: []string{tree}}, "commit-tree", "-p", st.Base)
	if err != nil {
		return err
	}
	st.Carry = id
	return nil
}

func (c *creation) when() time.Time {
	if c.req.Now.IsZero() {
		return c.strat.clock()
	}
	return c.req.Now
}
