package copytree

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// carry commits the person's uncommitted work inside the copy and returns the
// commit that the plan's branch starts at, so that none of it ever counts as the
// plan's. It is never published. No filter runs: a file that one would convert
// is stored as it lies there.
func (g *gitCopy) carry(ctx context.Context, tree *fsop.Dir, repo *gitx.Repo) (string, error) {
	plain, err := repo.Plain(ctx)
	if err != nil {
		return "", err
	}
	var in bytes.Buffer
	var nested []string
	for _, p := range g.dirty.Paths() {
		p = strings.TrimSuffix(p, "/")
		info, err := tree.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted
		case err != nil:
			return "", err
		case info.Kind == fsop.KindDir:
			nested = append(nested, p)
			continue
		}
		in.WriteString(p)
		in.WriteByte(0)
	}
	g.c.name(nested, "not carried, a repository inside the repository")
	if _, err := plain.Run(ctx, gitx.Opts{Stdin: &in}, "update-index", "--add", "--remove", "--replace", "-z", "--stdin"); err != nil {
		return "", err
	}
	id, err := plain.Output(ctx, gitx.Opts{}, "write-tree")
	if err != nil {
		return "", err
	}
	if now, err := plain.TreeOf(ctx, g.head.Commit); err != nil {
		return "", err
	} else if now == id {
		return g.head.Commit, nil
	}
	when := g.c.req.Now.UTC().Format("2006-01-02T15:04:05Z")
	opts := gitx.Opts{
		Stdin:  strings.NewReader("Uncommitted work at the start of plan " + g.c.req.Plan + "\n"),
		Values: []string{id},
		Env: []string{
			"GIT_AUTHOR_NAME=ambit", "GIT_AUTHOR_EMAIL=ambit@localhost", "GIT_AUTHOR_DATE=" + when,
			"GIT_COMMITTER_NAME=ambit", "GIT_COMMITTER_EMAIL=ambit@localhost", "GIT_COMMITTER_DATE=" + when,
		},
	}
	if !gitx.IsID(g.head.Commit) {
		return "", fault.New(fault.Internal, "", "HEAD is %q", g.head.Commit)
	}
	commit, err := plain.Output(ctx, opts, "commit-tree", "-p", g.head.Commit)
	if err != nil {
		return "", err
	}
	g.c.st.Carry = commit
	g.c.notice("%d uncommitted paths come along; they are no part of the plan's changes or commits", len(g.dirty.Paths()))
	return commit, nil
}

// refLimit bounds how many loose references of a sandbox are looked at, and
// refSize how large each may be; git's are 41 or 65 bytes.
const (
	refLimit = 100_000
	refSize  = 4096
)

// checkCommits refuses when a reference of the copy's repository leads to
// commits that the real one does not hold under any of its own. The copy is
// hostile: its references are read as files, and no git runs on it.
func (s *Sandbox) checkCommits(ctx context.Context, dir *fsop.Dir) error {
	tree, err := dir.OpenDir(treeDir)
	if err != nil {
		return err
	}
	defer tree.Close()
	known := map[string]bool{s.st.Base: true, s.st.Carry: true}
	raw, err := fsop.ReadFile(dir, refsFile, stateLimit)
	if err != nil {
		return err
	}
	packedRefs(raw, func(id, _ string) { known[id] = true })
	tips, err := privateRefs(ctx, tree, known)
	if err != nil || len(tips) == 0 {
		return err
	}
	g := s.rec.Resource.Git
	repo, err := s.strat.git.Repo(gitx.Location{GitDir: g.GitDir, CommonDir: g.CommonDir})
	if err != nil {
		return err
	}
	refs, err := repo.Refs(ctx)
	if err != nil {
		return err
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
		return err
	}
	var lost []string
	for id, name := range tips {
		res, err := plain.Run(ctx, gitx.Opts{Stdin: strings.NewReader(id + "\n" + not.String()), Exits: []int{128}},
			"rev-list", "--max-count=1", "--stdin")
		if err != nil {
			return err
		}
		if res.Exit != 0 || len(res.Stdout) > 0 { // unknown there, or held by no reference
			lost = append(lost, fmt.Sprintf("%s (%.12s)", name, id))
		}
	}
	if len(lost) > 0 {
		return lostCommits(lost)
	}
	return nil
}

// privateRefs returns the objects that references of a copy lead to and that are
// not known, each with the name of one of them.
func privateRefs(ctx context.Context, tree *fsop.Dir, known map[string]bool) (map[string]string, error) {
	tips := map[string]string{}
	add := func(id, name string) {
		if _, ok := tips[id]; !ok && gitx.IsID(id) && !known[id] {
			tips[id] = name
		}
	}
	ignorable := func(err error) bool {
		return errors.Is(err, fs.ErrNotExist) || fault.Is(err, fault.Conflict) || fault.Is(err, fault.Denied) || fault.Is(err, fault.Invalid)
	}
	one := func(name string) error {
		raw, err := fsop.ReadFile(tree, gitName+"/"+name, refSize)
		if err != nil && !ignorable(err) {
			return err
		}
		add(strings.TrimSpace(string(raw)), name)
		return nil
	}
	if err := one("HEAD"); err != nil {
		return nil, err
	}
	raw, err := fsop.ReadFile(tree, gitName+"/packed-refs", stateLimit)
	if err != nil && !ignorable(err) {
		return nil, err
	}
	packedRefs(raw, add)
	opts := fsop.WalkOptions{MaxEntries: refLimit, OnError: func(_ string, err error) error {
		if ignorable(err) {
			return nil
		}
		return err
	}}
	err = tree.Walk(ctx, gitName+"/refs", opts, func(p string, info fsop.Info) error {
		if info.Kind != fsop.KindFile {
			return nil
		}
		return one(strings.TrimPrefix(p, gitName+"/"))
	})
	if err != nil && !ignorable(err) {
		return nil, err
	}
	return tips, nil
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
