package copytree

import (
	"fmt"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/sandbox/statefile"
)

// Folders and files of a sandbox; see the package comment.
const (
	stateFile    = statefile.Name
	treeDir      = "tree"
	buildDir     = "build"
	oldDir       = "old"
	manifestsDir = "manifests"
	objectsDir   = "objects"
	openedFile   = "opened"
	refsFile     = "refs" // the real repository's references at creation, as packed-refs

	stateFormat = 1
	stateLimit  = 16 << 20
)

// state is everything a process must know to go on with a sandbox, but for the
// resource, which the store's record names. It is replaced as a whole.
type state struct {
	Format    int                 `json:"format"`
	Strategy  engine.StrategyName `json:"strategy"`
	Plan      string              `json:"plan"`
	ID        string              `json:"id"`
	Confined  bool                `json:"confined"`
	Lower     engine.Lower        `json:"lower,omitempty"`
	Dirty     engine.Dirty        `json:"dirty,omitempty"`
	CreatedAt time.Time           `json:"created_at"`

	// Next numbers the next manifest. Scan is the newest one of the present
	// tree: what it says of unchanged inodes needs no second reading.
	Next        int          `json:"next"`
	Scan        string       `json:"scan"`
	Checkpoints []checkpoint `json:"checkpoints"`

	Base   string `json:"base,omitempty"`   // commit of the real repository
	Carry  string `json:"carry,omitempty"`  // commit of the person's uncommitted work, only in the sandbox
	Branch string `json:"branch,omitempty"` // refs/heads/ambit/<plan>

	Copied  tally              `json:"copied"`
	Shared  tally              `json:"shared"`
	Notices []string           `json:"notices,omitempty"`
	Timings map[string]float64 `json:"timings,omitempty"`
	// Destroying says that a removal was decided: what is missing is no damage.
	Destroying bool `json:"destroying,omitempty"`
}

// tally counts files and their bytes (O21).
type tally struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// checkpoint is a named state; its contents are in the object store, except
// those of the creation.
type checkpoint struct {
	Name     string `json:"name"`
	Manifest string `json:"manifest"`
}

func loadState(d *fsop.Dir) (*state, error) {
	return statefile.Load[state](d, stateFormat, "the tree beside it still holds the work")
}

func (st *state) save(d *fsop.Dir) error { return statefile.Save(d, st) }

func (st *state) clone() *state {
	c := *st
	c.Checkpoints = append([]checkpoint(nil), st.Checkpoints...)
	return &c
}

// checkpointNamed returns the manifest of a named state.
func (st *state) checkpointNamed(name string) (string, error) {
	names := make([]string, 0, len(st.Checkpoints))
	for _, c := range st.Checkpoints {
		if c.Name == name {
			return c.Manifest, nil
		}
		names = append(names, c.Name)
	}
	return "", fault.New(fault.NotFound, "find checkpoint", "no checkpoint is called %q", name).
		WithPaths(names...).WithHint("the names listed here exist, and %q", engine.CheckpointNow)
}

// saveManifest writes a manifest under a new name, which it returns. It belongs
// to the sandbox once the state names it.
func saveManifest(d *fsop.Dir, st *state, m *manifest) (string, error) {
	name := fmt.Sprintf("%04d", st.Next)
	if err := fsop.WriteFileAtomic(d, manifestsDir+"/"+name, m.encode(), 0o600); err != nil {
		return "", fmt.Errorf("write manifest: %w", err)
	}
	st.Next++
	return name, nil
}

func loadManifest(d *fsop.Dir, name string) (*manifest, error) {
	raw, err := fsop.ReadFile(d, manifestsDir+"/"+name, manifestLimit)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	m, err := decodeManifest(raw)
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", name, err)
	}
	return m, nil
}

// dropManifests removes those that no state needs any more; what a crash left goes too.
func dropManifests(d *fsop.Dir, st *state) error {
	keep := map[string]bool{st.Scan: true}
	for _, c := range st.Checkpoints {
		keep[c.Manifest] = true
	}
	entries, err := d.ReadDir(manifestsDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !keep[e.Name] {
			if err := d.RemoveAll(manifestsDir + "/" + e.Name); err != nil {
				return fmt.Errorf("drop manifest: %w", err)
			}
		}
	}
	return nil
}
