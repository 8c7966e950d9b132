package copytree

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// refLimit bounds how many loose references of a sandbox are looked at, and
// refSize how large each may be; git's are 41 or 65 bytes.
const (
	refLimit = 100_000
	refSize  = 4096
)

// checkCommits refuses when a reference of the copy's repository, now or in a
// checkpoint, leads to commits that the real one does not hold under any of its
// own. The copy is hostile: its references are read as files, and no git runs on it.
func (s *Sandbox) checkCommits(ctx context.Context, dir *fsop.Dir) error {
	t := &tips{known: map[string]bool{s.st.Base: true, s.st.Carry: true}, found: map[string]string{}}
	raw, err := fsop.ReadFile(dir, refsFile, stateLimit)
	if err != nil {
		return err
	}
	packedRefs(raw, func(id, _ string) { t.known[id] = true })
	if err := t.present(ctx, dir); err != nil {
		return err
	}
	for _, c := range s.st.Checkpoints {
		if err := t.stored(dir, c); err != nil {
			return err
		}
	}
	if len(t.found) == 0 {
		return nil
	}
	g := s.rec.Resource.Git
	repo, err := s.strat.git.Repo(gitx.Location{GitDir: g.GitDir, CommonDir: g.CommonDir})
	if err != nil {
		return err
	}
	lost, err := unreachable(ctx, repo, t.found)
	if err != nil || len(lost) == 0 {
		return err
	}
	return lostCommits(lost)
}

// unreachable names those objects that no reference of a repository leads to.
func unreachable(ctx context.Context, repo *gitx.Repo, found map[string]string) ([]string, error) {
	refs, err := repo.Refs(ctx)
	if err != nil {
		return nil, err
	}
	var not strings.Builder
	for _, r := range refs {
		not.WriteString("^" + r.Object + "\n")
	}
	if head, err := repo.Head(ctx); err == nil && head.Commit != "" {
		not.WriteString("^" + head.Commit + "\n")
	}
	plain, err := repo.Plain(ctx)
	if err != nil {
		return nil, err
	}
	// Unknown there, or held by no reference.
	lose := func(ids ...string) (bool, error) {
		res, err := plain.Run(ctx, gitx.Opts{Stdin: strings.NewReader(strings.Join(ids, "\n") + "\n" + not.String()), Exits: []int{128}},
			"rev-list", "--max-count=1", "--stdin")
		return res.Exit != 0 || len(res.Stdout) > 0, err
	}
	ids := slices.Sorted(maps.Keys(found))
	any, err := lose(ids...)
	if err != nil || !any {
		return nil, err
	}
	// One git for each, to name them; a hostile tree may have any number.
	var lost []string
	for _, id := range ids[:min(len(ids), 20)] {
		one, err := lose(id)
		if err != nil {
			return nil, err
		}
		if one {
			lost = append(lost, fmt.Sprintf("%s (%.12s)", found[id], id))
		}
	}
	if len(lost) == 0 {
		lost = []string{fmt.Sprintf("one of %d references", len(ids))}
	}
	slices.Sort(lost)
	return lost, nil
}

// tips collects the objects that references lead to and that are not known, each
// with the name of the first of them.
type tips struct {
	known map[string]bool
	found map[string]string
}

func (t *tips) add(id, name string) {
	if _, ok := t.found[id]; !ok && gitx.IsID(id) && !t.known[id] {
		t.found[id] = name
	}
}

// file takes one file of a git directory for what its name says it is.
func (t *tips) file(name, where string, raw []byte) {
	if name == "packed-refs" {
		packedRefs(raw, func(id, ref string) { t.add(id, ref+where) })
		return
	}
	t.add(strings.TrimSpace(string(raw)), name+where)
}

// harmless are failures to read what a step left in the place of a reference:
// it leads nowhere.
func harmless(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || fault.Is(err, fault.Conflict) || fault.Is(err, fault.Denied) || fault.Is(err, fault.Invalid)
}

// present reads the references of the present tree.
func (t *tips) present(ctx context.Context, dir *fsop.Dir) error {
	tree, err := dir.OpenDir(treeDir)
	if err != nil {
		return err
	}
	defer tree.Close()
	read := func(name string, limit int64) error {
		raw, err := fsop.ReadFile(tree, gitName+"/"+name, limit)
		if err != nil && !harmless(err) {
			return err
		}
		t.file(name, "", raw)
		return nil
	}
	if err := errors.Join(read("HEAD", refSize), read("packed-refs", stateLimit)); err != nil {
		return err
	}
	opts := fsop.WalkOptions{MaxEntries: refLimit, OnError: func(_ string, err error) error {
		if harmless(err) {
			return nil
		}
		return err
	}}
	err = tree.Walk(ctx, gitName+"/refs", opts, func(p string, info fsop.Info) error {
		if info.Kind != fsop.KindFile {
			return nil
		}
		return read(strings.TrimPrefix(p, gitName+"/"), refSize)
	})
	if err != nil && !harmless(err) {
		return err
	}
	return nil
}

// stored reads the references of a checkpoint.
func (t *tips) stored(dir *fsop.Dir, c checkpoint) error {
	m, err := loadManifest(dir, c.Manifest)
	if err != nil {
		return err
	}
	for i := range m.entries {
		e := &m.entries[i]
		name, ok := strings.CutPrefix(e.path, gitName+"/")
		limit := int64(refSize)
		if name == "packed-refs" {
			limit = stateLimit
		}
		if !ok || e.kind != fsop.KindFile || e.size == 0 || e.size > limit ||
			(name != "HEAD" && name != "packed-refs" && !strings.HasPrefix(name, "refs/")) {
			continue
		}
		f, err := openVerified(dir, objectPath(e.hash), e.hash)
		if err != nil {
			return err
		}
		if f == nil { // it could not be restored either
			continue
		}
		raw, err := io.ReadAll(io.LimitReader(f, limit))
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		t.file(name, " in checkpoint "+c.Name, raw)
	}
	return nil
}

// packedRefs calls fn for every reference of a packed-refs file.
func packedRefs(raw []byte, fn func(id, name string)) {
	sc := bufio.NewScanner(bytes.NewReader(raw))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		id, name, ok := strings.Cut(sc.Text(), " ")
		if ok && gitx.IsID(id) {
			fn(id, name)
		}
	}
}
