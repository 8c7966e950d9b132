package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// step is what happens to one path of the checkout. Paths are bytes, so that
// JSON keeps those that are not UTF-8.
type step struct {
	Path   []byte `json:"path"`
	Slot   string `json:"slot,omitempty"` // name of the waiting file and of the pre-image; "" = the file stays
	Before side   `json:"before"`
	After  side   `json:"after"`

	IndexBefore entry `json:"index_before"`
	IndexAfter  entry `json:"index_after"`
}

// entry is an index entry without its path; an empty ID is "not there".
type entry struct {
	Mode string `json:"mode,omitempty"`
	ID   string `json:"id,omitempty"`
	Skip bool   `json:"skip,omitempty"`
}

// folder is a directory that the apply removes or makes.
type folder struct {
	Path []byte `json:"path"`
	Mode uint32 `json:"mode"`
}

// plan is everything that happens to a checkout, in order.
type plan struct {
	Stage   string   `json:"stage"` // absolute folder of the waiting files
	Steps   []step   `json:"steps"`
	Emptied []folder `json:"emptied,omitempty"` // removed if nothing is left in them; deepest first
	Made    []folder `json:"made,omitempty"`    // made for new files; topmost first
	Logs    []string `json:"logs,omitempty"`    // references whose reflog grows
}

const plansFile = "paths.json"

// writePlan keeps the plan in the request's folder, durable, its hash in the state.
func (j *job) writePlan() error {
	data, err := json.Marshal(j.plan)
	if err != nil {
		return fault.Wrap(fault.Internal, "write the paths of an apply", err)
	}
	sum := sha256.Sum256(data)
	j.PathsHash = hex.EncodeToString(sum[:])
	return writeOwn(j.Dir, plansFile, data)
}

// writeOwn writes a file of the plan's folder, durable.
func writeOwn(dir, name string, data []byte) error {
	d, err := fsop.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // nothing is pending in a directory handle
	return fsop.WriteFileAtomic(d, name, data, 0o600)
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
	open := func(into **fsop.Dir, path string) {
		if err == nil && *into == nil {
			*into, err = fsop.OpenRoot(path, fsop.WithIntercept(j.cfg.Intercept))
		}
	}
	open(&j.root, j.Location.WorkTree)
	open(&j.gitDir, j.Location.GitDir)
	open(&j.keep, j.file("old"))
	return err
}

// planCheckout checks every path that the result changes, keeps pre-images and
// lets the new files wait. The checkout is only read.
func (j *job) planCheckout(ctx context.Context, r *result) error {
	if err := os.MkdirAll(j.file("old"), 0o700); err != nil {
		return fault.Wrap(fault.Internal, "keep pre-images", err)
	}
	if err := j.openDirs(); err != nil {
		return err
	}
	j.plan = &plan{Logs: []string{"HEAD", j.Ref}}
	old, err := r.tree(ctx, j.Old)
	if err != nil {
		return err
	}
	diffs, err := r.view.DiffTrees(ctx, old, j.New)
	if err != nil {
		return err
	}
	c := &checkout{result: r, diffs: diffs}
	if err := c.survey(ctx); err != nil {
		return err
	}
	if err := c.openStage(); err != nil {
		return err
	}
	if err := c.wait(ctx); err != nil {
		return err
	}
	if err := c.keepOld(ctx); err != nil {
		return err
	}
	c.folders()
	return j.writePlan()
}

// stageName is the folder for waiting files, the same for every method of one
// apply and different between applies.
func (j *job) stageName() string {
	sum := sha256.Sum256([]byte(j.Dir))
	plain := strings.Map(func(c rune) rune {
		if c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, j.Plan)
	return "ambit-" + plain + "-" + hex.EncodeToString(sum[:4])
}

// openStage makes the folder for waiting files: in the git directory, or in the
// top of the checkout where that is another mount, since only a rename within a
// mount is atomic. Where it lies is on record before it exists.
func (c *checkout) openStage() error {
	parent, name, err := c.stagePlace()
	if err != nil {
		return err
	}
	c.plan.Stage = filepath.Join(parent.Name(), name)
	if err := writeOwn(c.Dir, stageFile, mustJSON(c.plan.Stage)); err != nil {
		return err
	}
	if err := parent.RemoveAll(name); err != nil {
		return err
	}
	if err := parent.Mkdir(name, 0o700); err != nil {
		return err
	}
	c.stage, err = parent.OpenDir(name)
	return err
}

const stageFile = "stage.json"

func (c *checkout) stagePlace() (parent *fsop.Dir, name string, err error) {
	a, err := c.root.Stat(".")
	if err != nil {
		return nil, "", err
	}
	b, err := c.gitDir.Stat(".")
	if err != nil {
		return nil, "", err
	}
	if a.MntID == b.MntID && a.Dev() == b.Dev() {
		return c.gitDir, c.stageName(), nil
	}
	return c.root, "." + c.stageName(), nil
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a string or a struct of strings always has a JSON form
	}
	return data
}

// folders works out which directories may become empty and which must be made.
func (c *checkout) folders() {
	made, emptied := map[string]bool{}, map[string]bool{}
	for _, s := range c.plan.Steps {
		if s.Slot == "" {
			continue
		}
		for dir, _ := fsop.SplitRel(string(s.Path)); dir != "."; dir, _ = fsop.SplitRel(dir) {
			info, err := c.root.Stat(dir)
			isDir := err == nil && info.Kind == fsop.KindDir
			if s.After.Kind != absent && !isDir && !made[dir] {
				made[dir] = true
				c.plan.Made = append(c.plan.Made, folder{[]byte(dir), c.folderMode(dir)})
			}
			if s.After.Kind == absent && isDir && !emptied[dir] {
				emptied[dir] = true
				c.plan.Emptied = append(c.plan.Emptied, folder{[]byte(dir), info.Mode})
			}
		}
	}
	for dir := range c.cleared {
		if info, err := c.root.Stat(dir); err == nil && !emptied[dir] {
			emptied[dir] = true
			c.plan.Emptied = append(c.plan.Emptied, folder{[]byte(dir), info.Mode})
		}
	}
	slices.SortFunc(c.plan.Made, func(a, b folder) int { return strings.Compare(string(a.Path), string(b.Path)) })
	slices.SortFunc(c.plan.Emptied, func(a, b folder) int { return strings.Compare(string(b.Path), string(a.Path)) })
}

// folderMode is the mode of a new directory: the sandbox's, else what git makes.
func (c *checkout) folderMode(path string) uint32 {
	if ch := c.wanted()[path]; ch != nil && ch.After.Kind == changeset.Dir {
		return ch.After.Mode & 0o777
	}
	return 0o777 &^ umask()
}

func (s *step) index(e entry) gitx.IndexEntry {
	return gitx.IndexEntry{Path: string(s.Path), Mode: e.Mode, ID: e.ID, SkipWorktree: e.Skip}
}
