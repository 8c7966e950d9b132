package gitx

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Merged is the outcome of a three-way merge of trees.
type Merged struct {
	Tree      string   // the result; with conflict markers in it when there are conflicts
	Conflicts []string // every conflicting path, sorted
}

// MergeTrees merges what changed from base to theirs into ours, with git's own
// rename detection. All three are trees.
//
// git 2.39 has no --merge-base, so each tree is dressed as a commit whose parent
// is the base. Those commits, and the merged tree, go into the view's object
// directory: use a scratch one. No merge driver runs; attributes set with
// WithAttributes choose among git's built-in ones.
func (r *Repo) MergeTrees(ctx context.Context, base, ours, theirs string) (Merged, error) {
	// Attributes must not come from a checkout that happens to lie there.
	view := *r
	view.workTree, view.index = "", ""
	r = &view
	if base == theirs || ours == theirs {
		return Merged{Tree: ours}, nil
	}
	if base == ours {
		return Merged{Tree: theirs}, nil
	}
	nobody := Identity{"ambit", "ambit@localhost"}.Ident(time.Unix(0, 0).UTC())
	c := Commit{Tree: base, Author: nobody, Committer: nobody, Message: "merge base\n"}
	root, err := r.WriteCommit(ctx, c)
	if err != nil {
		return Merged{}, err
	}
	var sides [2]string
	for i, tree := range []string{ours, theirs} {
		c.Tree, c.Parents, c.Message = tree, []string{root}, fmt.Sprintf("side %d\n", i)
		if sides[i], err = r.WriteCommit(ctx, c); err != nil {
			return Merged{}, err
		}
	}
	res, err := r.Run(ctx, Opts{Values: sides[:], Exits: []int{1}}, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages")
	if err != nil {
		return Merged{}, err
	}
	recs := SplitZ(res.Stdout)
	if len(recs) == 0 || !IsID(recs[0]) {
		return Merged{}, fmt.Errorf("merge trees: unexpected answer %q", res.Stdout)
	}
	m := Merged{Tree: recs[0]}
	if res.Exit == 1 {
		m.Conflicts = slices.DeleteFunc(recs[1:], func(s string) bool { return s == "" })
		slices.Sort(m.Conflicts)
		m.Conflicts = slices.Compact(m.Conflicts)
	}
	return m, nil
}
