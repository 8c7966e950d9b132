package overlay

import (
	"context"
	"fmt"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// GitState is what a sandbox's repository consists of, for whoever carries its
// history on.
type GitState struct {
	Base   string // commit of the real repository
	Carry  string // commit of the person's uncommitted work over Base; empty when nothing was carried
	Branch string // full name of the branch that HEAD was put on
	// Objects are the sandbox's own object directories in the present state,
	// topmost first; one that nothing was written to does not exist. What is in
	// them is hostile.
	Objects []string
	// Tips are the objects that HEAD and the references of the present state
	// name, sorted, without those that the real repository has. They are read
	// from the layers, not by git, and are nothing but names.
	Tips []string
}

// GitState describes the repository of the present state. It starts no git on
// the sandbox's files. Code invalid for a resource that is no checkout.
func (s *Sandbox) GitState(ctx context.Context) (GitState, error) {
	if !s.isGit() {
		return GitState{}, fault.New(fault.Invalid, "read git state", "%s is no checkout", s.st.Resource.Path)
	}
	at, err := placeGit(s.st.Resource, s.st.Lower)
	if err != nil {
		return GitState{}, fault.Wrap("", "read git state", err)
	}
	g := GitState{Base: s.st.Base, Carry: s.st.Carry, Branch: s.st.Branch}
	for i := len(s.st.Layers); i >= 0; i-- {
		name := s.st.Upper
		if i < len(s.st.Layers) {
			name = s.st.Layers[i]
		}
		g.Objects = append(g.Objects, s.part(name, at.upper)+"/"+fsop.Join(at.common, "objects"))
	}
	if g.Tips, err = s.ownTips(ctx, engine.CheckpointNow); err != nil {
		return GitState{}, fault.Wrap("", "read git state", err)
	}
	return g, nil
}

// checkCommits refuses when a state of the sandbox, the present one or any
// checkpoint, has references to commits that the real repository does not have.
func (s *Sandbox) checkCommits(ctx context.Context) error {
	if !s.isGit() {
		return nil
	}
	names := []string{engine.CheckpointNow}
	for _, c := range s.st.Checkpoints {
		names = append(names, c.Name)
	}
	for _, name := range names {
		tips, err := s.ownTips(ctx, name)
		if err != nil {
			return fmt.Errorf("look for commits of state %q: %w", name, err)
		}
		if len(tips) > 0 {
			return fault.New(fault.Conflict, "", "%d commits exist only in this sandbox (state %q)", len(tips), name).
				WithPaths(tips...).WithHint("apply the plan, or discard it: a discarded plan can be brought back for a while")
		}
	}
	return nil
}

// ownTips lists what the references of a state name and the real repository
// does not have.
func (s *Sandbox) ownTips(ctx context.Context, state string) ([]string, error) {
	if state == engine.CheckpointCreation {
		return nil, nil
	}
	ids, err := s.innerTips(ctx, state)
	if err != nil {
		return nil, err
	}
	// What was there at creation was the real repository's, or is the carry
	// commit, whose contents lie in the person's checkout.
	old, err := s.innerTips(ctx, engine.CheckpointCreation)
	if err != nil {
		return nil, err
	}
	for id := range old {
		delete(ids, id)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	real, err := s.strat.repo(s.st.Resource)
	if err != nil {
		return nil, err
	}
	repo, err := real.Plain(ctx)
	if err != nil {
		return nil, err
	}
	list := sorted(ids)
	out, err := repo.Output(ctx, gitx.Opts{Stdin: strings.NewReader(strings.Join(list, "\n") + "\n")}, "cat-file", "--batch-check=%(objecttype)")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(out, "\n")
	if len(lines) != len(list) {
		return nil, fmt.Errorf("ask for %d objects: %d answers", len(list), len(lines))
	}
	var own []string
	for i, line := range lines {
		if strings.HasSuffix(line, " missing") {
			own = append(own, list[i])
		}
	}
	return own, nil
}

const (
	refLimit    = 4 << 10   // of one loose reference
	packedLimit = 256 << 20 // of packed-refs; some million references
	refCount    = 1 << 20
)

// innerTips collects the object ids in HEAD, loose and packed references of a
// state. The files are the sandbox's and may hold anything; whatever does not
// look like an id is passed over, as git would complain about it.
func (s *Sandbox) innerTips(ctx context.Context, state string) (map[string]bool, error) {
	at, err := placeGit(s.st.Resource, s.st.Lower)
	if err != nil {
		return nil, err
	}
	open := s.view
	if at.upper == partGitUpper {
		open = s.gitView
	}
	v, err := open(state)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.close() }()
	ids := map[string]bool{}
	take := func(text string) {
		if id, _, _ := strings.Cut(strings.TrimSpace(text), " "); gitx.IsID(id) {
			ids[id] = true
		}
	}
	for _, f := range []struct {
		path  string
		limit int64
	}{{fsop.Join(at.gitDir, "HEAD"), refLimit}, {fsop.Join(at.common, "packed-refs"), packedLimit}} {
		raw, err := v.readSmall(f.path, f.limit)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(raw)) {
			take(line)
		}
	}
	n := 0
	for _, dir := range []string{fsop.Join(at.common, "refs"), fsop.Join(at.gitDir, "refs")} {
		top, err := v.lookup(dir)
		if err != nil {
			return nil, err
		}
		if !top.isDir() {
			continue
		}
		err = v.walk(ctx, dir, top, func(path string, nd *node) error {
			if n++; n > refCount {
				return fault.New(fault.Unsupported, "", "more than %d references", refCount)
			}
			if nd.info.Kind != fsop.KindFile || nd.info.Size > refLimit {
				return nil
			}
			raw, err := fsop.ReadFile(v.layers[nd.at].root, path, refLimit)
			if err != nil {
				return absent(err)
			}
			take(string(raw))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}
