package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// step is what happens to one path of the checkout. Paths are bytes, so that
// JSON keeps those that are not UTF-8.
type step struct {
	Path []byte `json:"path"`
	// File says that the work tree follows, from Before to After; else only the index.
	File        bool  `json:"file,omitempty"`
	Before      side  `json:"before,omitzero"`
	After       side  `json:"after,omitzero"`
	IndexBefore entry `json:"index_before,omitzero"`
	IndexAfter  entry `json:"index_after,omitzero"`
}

// entry is an index entry without its path; an empty ID is "not there".
type entry struct {
	Mode string `json:"mode,omitempty"`
	ID   string `json:"id,omitempty"`
	Skip bool   `json:"skip,omitempty"`
}

func (s *step) index(e entry) gitx.IndexEntry {
	return gitx.IndexEntry{Path: string(s.Path), Mode: e.Mode, ID: e.ID, SkipWorktree: e.Skip}
}

// plan is everything that happens to a checkout.
type plan struct {
	Steps []step          `json:"steps"`
	Files json.RawMessage `json:"files,omitempty"` // state of the target that carries the files; none when no file changes
}

const plansFile = "paths.json"

// filesDir is where the target that carries the files keeps what it needs.
const filesDir = "files"

// writePlan keeps the plan in the request's folder, durable, its hash in the state.
func (j *job) writePlan() error {
	data, err := json.Marshal(j.plan)
	if err != nil {
		return fault.Wrap(fault.Internal, "write the paths of an apply", err)
	}
	sum := sha256.Sum256(data)
	j.PathsHash = hex.EncodeToString(sum[:])
	d, err := fsop.OpenRoot(j.Dir)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // nothing is pending in a directory handle
	return fsop.WriteFileAtomic(d, plansFile, data, 0o600)
}

// readPlan opens the checkout's folders and reads the plan back.
func (j *job) readPlan() error {
	data, err := os.ReadFile(j.file(plansFile))
	if err != nil {
		return fault.Wrap(fault.Stale, "read the paths of an apply", err)
	}
	sum := sha256.Sum256(data)
	if hex.EncodeToString(sum[:]) != j.PathsHash {
		return fault.New(fault.Stale, "read the paths of an apply", "%s was changed since it was written", j.file(plansFile))
	}
	j.plan = &plan{}
	if err := json.Unmarshal(data, j.plan); err != nil {
		return fault.Wrap(fault.Stale, "read the paths of an apply", err)
	}
	return j.openDirs()
}

func (j *job) openDirs() (err error) {
	if j.root == nil {
		if j.root, err = fsop.OpenRoot(j.Location.WorkTree, fsop.WithIntercept(j.cfg.Intercept)); err != nil {
			return err
		}
	}
	if j.gitDir == nil {
		j.gitDir, err = fsop.OpenRoot(j.Location.GitDir, fsop.WithIntercept(j.cfg.Intercept))
	}
	return err
}

// foreign lists paths that are neither what they were nor what they are to
// become: somebody's work since.
func (j *job) foreign(ctx context.Context) ([]string, error) {
	var paths []string
	for i := range j.plan.Steps {
		s := &j.plan.Steps[i]
		if !s.File {
			continue
		}
		now, err := look(ctx, j.root, string(s.Path))
		if err != nil {
			return nil, err
		}
		if !now.alike(s.Before) && !now.alike(s.After) && !s.passing(now) {
			paths = append(paths, string(s.Path))
		}
	}
	return paths, nil
}

// passing reports whether a path is in a state that a half-done exchange of a
// file for a directory, or the reverse, goes through.
func (s *step) passing(now side) bool {
	dir := func(x side) bool { return x.Kind == "" || x.Kind == "dir" }
	return dir(now) && (dir(s.Before) || dir(s.After))
}
