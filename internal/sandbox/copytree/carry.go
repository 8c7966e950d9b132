package copytree

import (
	"bytes"
	"context"
	"errors"
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
