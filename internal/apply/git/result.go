package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx"
)

// result computes the commit that an apply publishes, in object directories of
// the request's own.
type result struct {
	*job
	req  engine.TargetRequest
	head string // the checked-out commit; "" before the first one

	view    *gitx.Repo // reads quarantine and repository, writes scratch objects
	onto    string     // commit that the result stands on; "" = none
	tip     string
	planTip string // the plan's own tip, whose files the sandbox holds; "" without a history
	// wants is what the plan alone would make of the branch's paths, for telling
	// all that is in its way; known once conflicts can be met.
	wants []gitx.Diff
}

// compute fills tip and writes result.pack.
func (r *result) compute(ctx context.Context) error {
	work := r.file("work")
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o700)); err != nil {
		return fault.Wrap(fault.Internal, "prepare apply", err)
	}
	have, err := r.have(ctx)
	if err != nil {
		return err
	}
	from := r.plain
	if r.req.History != nil {
		if from, err = r.plain.Import(ctx, r.req.History.Pack, r.req.History.Tip, have, work); err != nil {
			return err
		}
	}
	if r.view, err = from.Scratch(work + "/scratch"); err != nil {
		return err
	}
	if r.req.History != nil {
		err = r.fromHistory(ctx)
	} else {
		err = r.fromFiles(ctx)
	}
	if err != nil {
		return err
	}
	if r.tip == "" || r.tip == r.Old {
		return nil
	}
	r.Objects, err = r.view.Pack(ctx, r.file("result.pack"), []string{r.tip}, have)
	return err
}

// have lists what the repository's references hold, so that only new objects
// are imported and published.
func (r *result) have(ctx context.Context) ([]string, error) {
	refs, err := r.repo.Refs(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	if r.head != "" {
		ids = append(ids, r.head)
	}
	for _, ref := range refs {
		ids = append(ids, ref.Object)
	}
	if h := r.req.History; h != nil && h.RealBase != "" {
		ids = append(ids, h.RealBase) // may hang on no reference any more
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// fromHistory publishes the plan's commits.
func (r *result) fromHistory(ctx context.Context) error {
	h := r.req.History
	r.planTip = h.Tip
	r.onto = r.head
	if !r.Checkout {
		r.onto = h.RealBase // published where it was made, whatever is checked out now
	}
	if h.Base != "" {
		ok, err := r.view.IsAncestor(ctx, h.Base, h.Tip)
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(fault.Conflict, "apply", "a step rewrote the history that the plan stands on").
				WithHint("`ambit apply --to worktree` carries the files without the commits")
		}
	}
	own, err := r.reviewed(ctx)
	if err != nil {
		return err
	}
	attrs := r.file("work/attributes")
	if r.onto != "" {
		if err := r.view.Flatten(ctx, r.onto, attrs); err != nil {
			return err
		}
		r.view = r.view.WithAttributes(attrs)
	}
	if err := r.want(ctx, own); err != nil {
		return err
	}
	switch {
	case r.req.Squash:
		err = r.squash(ctx)
	case h.Base == h.RealBase && r.onto == h.Base:
		r.tip = h.Tip // a fast-forward
	default:
		err = r.replay(ctx)
	}
	if err != nil {
		return err
	}
	return r.within(ctx, own)
}

// commit writes a commit of ambit's own over a tree; nothing when the tree is
// what the branch holds already.
func (r *result) commit(ctx context.Context, tree string, trailers []string) error {
	have, err := r.tree(ctx, r.onto)
	if err != nil {
		return err
	}
	if tree == have {
		r.tip = r.onto
		return nil
	}
	who, err := r.committer(ctx)
	if err != nil {
		return err
	}
	r.tip, err = r.view.WriteCommit(ctx, gitx.Commit{
		Tree: tree, Parents: parents(r.onto), Author: who, Committer: who,
		Message: message(r.req.Message, append([]string{"Ambit-Plan: " + r.Plan}, trailers...)),
	})
	return err
}

// committer is who the request says, else the person of the repository's
// configuration, else ambit.
func (r *result) committer(ctx context.Context) (string, error) {
	at := r.req.Now
	if at.IsZero() {
		return "", fault.New(fault.Internal, "apply", "the request does not say what time it is")
	}
	name, mail, ok := strings.Cut(strings.TrimSuffix(r.req.Author, ">"), " <")
	if ok && name != "" && mail != "" && !strings.ContainsAny(r.req.Author, "\n\x00") {
		return gitx.Identity{Name: name, Email: mail}.Ident(at), nil
	}
	id, ok, err := r.repo.Identity(ctx)
	if err != nil {
		return "", err
	}
	if !ok {
		id = gitx.Identity{Name: "ambit", Email: "ambit@localhost"}
	}
	return id.Ident(at), nil
}

// tree returns a commit's tree; the empty one for no commit.
func (r *result) tree(ctx context.Context, commit string) (string, error) {
	if commit != "" {
		return r.view.TreeOf(ctx, commit)
	}
	format, err := r.view.Format(ctx)
	return gitx.EmptyTree(format), err
}

func parents(tip string) []string {
	if tip == "" {
		return nil
	}
	return []string{tip}
}

func subject(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	return line
}

// message joins text and trailers; trailers that the text has already are not
// repeated.
func message(text string, trailers []string) string {
	text = strings.TrimRight(text, "\n \t")
	if text == "" {
		text = "Changes of an ambit plan"
	}
	lines := strings.Split(text, "\n")
	var add []string
	for _, t := range trailers {
		if !slices.Contains(lines, t) {
			add = append(add, t)
		}
	}
	if len(add) == 0 {
		return text + "\n"
	}
	return fmt.Sprintf("%s\n\n%s\n", text, strings.Join(add, "\n"))
}
