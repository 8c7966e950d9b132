package overlay

import (
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/sandbox/statefile"
)

const (
	stateFile   = statefile.Name
	stateFormat = 1
	stateLimit  = 16 << 20 // a record of thousands of checkpoints is far below it
)

// state is everything a process must know to go on with a sandbox. It is
// replaced as a whole; what is in it is true, whatever else lies in the folder.
type state struct {
	Format    int             `json:"format"`
	Plan      string          `json:"plan"`
	ID        string          `json:"id"`
	Resource  engine.Resource `json:"resource"`
	Lower     engine.Lower    `json:"lower"`
	Dirty     engine.Dirty    `json:"dirty,omitempty"`
	CreatedAt time.Time       `json:"created_at"`
	Stamp     stamp           `json:"stamp"`

	// Tree and Git are the mounts. Git is only there where the common git
	// directory is mounted by itself.
	Tree volume  `json:"tree"`
	Git  *volume `json:"git,omitempty"`

	// Layers are the frozen layers of the present state, lowest first, and Upper
	// the one that is written to. Next numbers the next layer.
	Layers      []string     `json:"layers"`
	Upper       string       `json:"upper"`
	Next        int          `json:"next"`
	Checkpoints []checkpoint `json:"checkpoints"`

	Base   string `json:"base,omitempty"`   // commit of the real repository
	Carry  string `json:"carry,omitempty"`  // commit of the person's uncommitted work, only in the sandbox
	Branch string `json:"branch,omitempty"` // refs/heads/ambit/<plan>
	// Alternates are object directories outside of the common one, needed read-only.
	Alternates []string `json:"alternates,omitempty"`

	Notices []string           `json:"notices,omitempty"`
	Timings map[string]float64 `json:"timings,omitempty"`
	// Destroying says that a removal was decided: what is missing is no damage.
	Destroying bool `json:"destroying,omitempty"`
}

// volume is one overlay mount of the sandbox.
type volume struct {
	Target  string     `json:"target"`
	Aliases []string   `json:"aliases,omitempty"`
	Bottom  []layerRef `json:"bottom"` // below all layers of the sandbox, topmost first
	// Real and Identity are the directory of the person that the volume stands
	// on or stands for, and which one it was.
	Real     string   `json:"real"`
	Identity identity `json:"identity"`
}

// checkpoint is a named state: the layers below a fresh upper.
type checkpoint struct {
	Name   string   `json:"name"`
	Layers []string `json:"layers"`
}

// identity tells one directory from another that took its path. Device numbers
// are only comparable within one boot.
type identity struct {
	Boot  string `json:"boot,omitempty"`
	Dev   uint64 `json:"dev"`
	Ino   uint64 `json:"ino"`
	Birth int64  `json:"birth,omitempty"` // nanoseconds; 0 = unknown
}

func identityOf(info fsop.Info, boot string) identity {
	id := identity{Boot: boot, Dev: info.Dev(), Ino: info.Ino}
	if !info.Btime.IsZero() {
		id.Birth = info.Btime.UnixNano()
	}
	return id
}

// same reports whether both name the same directory.
func (id identity) same(o identity) bool {
	if id.Ino != o.Ino || (id.Birth != 0 && o.Birth != 0 && id.Birth != o.Birth) {
		return false
	}
	return id.Boot != o.Boot || id.Boot == "" || id.Dev == o.Dev
}

func loadState(d *fsop.Dir) (*state, error) {
	return statefile.Load[state](d, stateFormat, "the layers beside it still hold the work")
}

func (st *state) save(d *fsop.Dir) error { return statefile.Save(d, st) }

// stateLayers returns the layers of a state by name, lowest first.
func (st *state) stateLayers(name string) ([]string, error) {
	if name == engine.CheckpointNow {
		return append(append([]string(nil), st.Layers...), st.Upper), nil
	}
	for _, c := range st.Checkpoints {
		if c.Name == name {
			return c.Layers, nil
		}
	}
	var names []string
	for _, c := range st.Checkpoints {
		names = append(names, c.Name)
	}
	return nil, fault.New(fault.NotFound, "find checkpoint", "no checkpoint is called %q", name).
		WithPaths(names...).WithHint("the names listed here exist, and %q", engine.CheckpointNow)
}

// referenced tells which layers some state still needs.
func (st *state) referenced() map[string]bool {
	ref := map[string]bool{st.Upper: true}
	for _, l := range st.Layers {
		ref[l] = true
	}
	for _, c := range st.Checkpoints {
		for _, l := range c.Layers {
			ref[l] = true
		}
	}
	return ref
}
