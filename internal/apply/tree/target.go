package tree

import (
	"encoding/json"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Options tune a Target. The zero value is what production uses.
type Options struct {
	// Intercept is called before every file-system call in the target and in the
	// plan's folder; see fsop.WithIntercept. For tests.
	Intercept fsop.Intercept
}

// Target carries changesets into the files of a directory or a git checkout. It
// keeps no state of its own and is safe for concurrent use on different
// directories; the engine's plan lock keeps two applies from one.
type Target struct{ opts Options }

var _ engine.Target = (*Target)(nil)

// New returns a target.
func New(opts Options) *Target { return &Target{opts: opts} }

// To is engine.ToWorktree.
func (t *Target) To() engine.ApplyTo { return engine.ToWorktree }

// openDir holds the plan's folder for one apply.
func (t *Target) openDir(path string) (*fsop.Dir, error) {
	return fsop.OpenRoot(path, t.rootOptions()...)
}

// openRoot holds the target. Mounts inside it are no part of it.
func (t *Target) openRoot(path string) (*fsop.Dir, error) {
	return fsop.OpenRoot(path, append(t.rootOptions(), fsop.NoXdev())...)
}

func (t *Target) rootOptions() []fsop.RootOption {
	if t.opts.Intercept == nil {
		return nil
	}
	return []fsop.RootOption{fsop.WithIntercept(t.opts.Intercept)}
}

// work is one apply that was prepared, opened again.
type work struct {
	rec  *record
	root *fsop.Dir
	dir  *fsop.Dir
}

func (w *work) close() {
	for _, d := range []*fsop.Dir{w.root, w.dir} {
		if d != nil {
			_ = d.Close()
		}
	}
}

// open takes up a prepared apply from what Prepare returned.
func (t *Target) open(raw json.RawMessage) (*work, error) {
	var st state
	if err := json.Unmarshal(raw, &st); err != nil {
		return nil, fault.Wrap(fault.Internal, "read apply state", err)
	}
	if st.Dir == "" || st.SHA256 == "" {
		return nil, fault.New(fault.Internal, "read apply state", "it names no record")
	}
	return t.openAt(string(st.Dir), st.SHA256)
}

func (t *Target) openAt(path, sum string) (w *work, err error) {
	w = &work{}
	defer func() {
		if err != nil {
			w.close()
			w = nil
		}
	}()
	if w.dir, err = t.openDir(path); err != nil {
		return w, err
	}
	if w.rec, err = loadRecord(w.dir, sum); err != nil {
		return w, err
	}
	if w.root, err = t.openRoot(string(w.rec.Root)); err != nil {
		return w, err
	}
	info, err := w.root.Stat(".")
	if err == nil && info.Ino != w.rec.RootIno {
		err = errOtherRoot(w.root.Name())
	}
	return w, err
}

func errOtherRoot(path string) error {
	return fault.New(fault.IdentityChanged, "open target", "%s is another directory than the one that was prepared", path).
		WithPaths(path).WithHint("put the original directory back and run `ambit recover`")
}
