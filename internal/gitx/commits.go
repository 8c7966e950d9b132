package gitx

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// maxCommit bounds one commit object: a message of more is not a person's.
const maxCommit = 16 << 20

// Commit is one commit object.
type Commit struct {
	ID        string
	Tree      string
	Parents   []string
	Author    string // "Name <mail> seconds zone"
	Committer string
	Message   string // exact bytes

	headers []string // all others, each with its continuation lines
}

// Commits reads commits, in the given order.
func (r *Repo) Commits(ctx context.Context, ids []string) ([]Commit, error) {
	list := make([]Commit, 0, len(ids))
	err := r.CatFiles(ctx, ids, func(_ int, o Object) error {
		if o.Type != "commit" || o.Size > maxCommit {
			return fault.New(fault.Invalid, "read commit", "%s is a %s of %d bytes", o.ID, o.Type, o.Size)
		}
		raw, err := io.ReadAll(o.R)
		if err != nil {
			return err
		}
		c, err := parseCommit(o.ID, raw)
		list = append(list, c)
		return err
	})
	return list, err
}

func parseCommit(id string, raw []byte) (Commit, error) {
	c := Commit{ID: id}
	head, message, ok := bytes.Cut(raw, []byte("\n\n"))
	if !ok {
		head = bytes.TrimSuffix(raw, []byte("\n"))
	}
	c.Message = string(message)
	for line := range strings.SplitSeq(string(head), "\n") {
		if strings.HasPrefix(line, " ") && len(c.headers) > 0 {
			c.headers[len(c.headers)-1] += "\n" + line
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			c.Tree = value
		case "parent":
			c.Parents = append(c.Parents, value)
		case "author":
			c.Author = value
		case "committer":
			c.Committer = value
		default:
			c.headers = append(c.headers, line)
		}
	}
	if !IsID(c.Tree) || c.Author == "" || c.Committer == "" {
		return c, fault.New(fault.Invalid, "read commit", "%s is not a commit git would write", id)
	}
	return c, nil
}

// Ident renders an identity as a commit header carries it.
func (id Identity) Ident(at time.Time) string {
	_, offset := at.Zone()
	sign := '+'
	if offset < 0 {
		sign, offset = '-', -offset
	}
	return fmt.Sprintf("%s <%s> %d %c%02d%02d", id.Name, id.Email, at.Unix(), sign, offset/3600, offset/60%60)
}

// WriteCommit writes a commit object and returns its id. Headers beyond the
// named fields are kept but for signatures, which would no longer hold. A message
// keeps its exact bytes.
func (r *Repo) WriteCommit(ctx context.Context, c Commit) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", c.Tree)
	for _, p := range c.Parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n", c.Author, c.Committer)
	for _, h := range c.headers {
		if strings.HasPrefix(h, "gpgsig") || strings.HasPrefix(h, "mergetag") {
			continue
		}
		b.WriteString(h + "\n")
	}
	b.WriteString("\n" + c.Message)
	return r.HashObject(ctx, "commit", strings.NewReader(b.String()))
}

// FirstParents lists the commits from base (left out) to tip along first
// parents, oldest first. base may be empty: then all of them. It is an error of
// code invalid when base is not among them.
func (r *Repo) FirstParents(ctx context.Context, base, tip string) ([]string, error) {
	if base == tip {
		return nil, nil
	}
	values := []string{tip}
	if base != "" {
		values = append(values, "^"+base)
	}
	out, err := r.Output(ctx, Opts{Values: values}, "rev-list", "--first-parent", "--reverse", "--parents")
	if err != nil {
		return nil, err
	}
	var ids []string
	want := base
	for line := range strings.SplitSeq(out, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		parent := ""
		if len(f) > 1 {
			parent = f[1]
		}
		if parent != want {
			return nil, fault.New(fault.Invalid, "follow history", "%.12s does not stand on %.12s", tip, base)
		}
		ids = append(ids, f[0])
		want = f[0]
	}
	if len(ids) == 0 || ids[len(ids)-1] != tip {
		return nil, fault.New(fault.Invalid, "follow history", "%.12s does not stand on %.12s", tip, base)
	}
	return ids, nil
}

// IsAncestor reports whether a is b or an ancestor of it.
func (r *Repo) IsAncestor(ctx context.Context, a, b string) (bool, error) {
	res, err := r.Run(ctx, Opts{Values: []string{a, b}, Exits: []int{1}}, "merge-base", "--is-ancestor")
	return err == nil && res.Exit == 0, err
}
