package gitx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// Import brings the history of one commit out of a hostile pack file into the
// quarantine at dir, an absolute path of an existing folder that is the caller's
// own. have are objects whose history the repository holds already. It returns
// the view that reads the quarantine beside the repository and writes into the
// quarantine.
//
// Nothing of the pack is believed: it is indexed anew, and of what it holds only
// what the tip reaches and the repository does not have is packed again and
// checked object by object by index-pack --strict or its like, as git checks a
// push. The repository is not written to. Import may be repeated after a crash.
//
// Errors: not_found (the pack, or the tip in it), invalid (damaged or refused
// objects, naming git's reason).
func (r *Repo) Import(ctx context.Context, pack, tip string, have []string, dir string) (*Repo, error) {
	if !r.plain {
		return nil, fault.New(fault.Internal, "import commits", "not a plain view")
	}
	if !IsID(tip) {
		return nil, fault.New(fault.Invalid, "import commits", "%.80q is not an object id", tip)
	}
	raw := filepath.Join(dir, "raw")
	in, err := r.Scratch(raw)
	if err != nil {
		return nil, err
	}
	if err := in.indexRaw(ctx, pack); err != nil {
		return nil, err
	}
	kind, err := in.Output(ctx, Opts{Values: []string{tip}}, "cat-file", "-t")
	if err != nil || kind != "commit" {
		return nil, fault.New(fault.NotFound, "import commits", "commit %s is not among the plan's commits", tip).WithCause(err)
	}
	out, err := r.Scratch(filepath.Join(dir, "objects"))
	if err != nil {
		return nil, err
	}
	again := filepath.Join(dir, "import.pack")
	if _, err := in.Pack(ctx, again, []string{tip}, have); err != nil {
		return nil, fault.Wrap(fault.Invalid, "pack the plan's commits", err)
	}
	if err := out.TakePack(ctx, again); err != nil {
		return nil, fault.Wrap(fault.Invalid, "check the plan's commits", err).
			WithHint("a step wrote objects that git refuses; git fsck inside the sandbox names them")
	}
	if err := errors.Join(os.RemoveAll(raw), os.Remove(again)); err != nil {
		return nil, fault.Wrap(fileCode(err), "import commits", err)
	}
	// As git does for a push: everything the tip needs is here or in the repository.
	values := append([]string{tip}, negate(have)...)
	if _, err := out.Run(ctx, Opts{Stdin: lines(values), Stdout: discard{}}, "rev-list", "--objects", "--stdin"); err != nil {
		return nil, fault.Wrap(fault.Invalid, "check the plan's commits", err)
	}
	return out, nil
}

// indexRaw stores a pack as it is; nothing of it is checked but that it can be read.
func (r *Repo) indexRaw(ctx context.Context, pack string) error {
	f, err := os.Open(pack)
	if err != nil {
		return fault.Wrap(fileCode(err), "read the plan's commits", err)
	}
	defer f.Close() //nolint:errcheck // read only
	if n, err := packCount(f); err == nil && n == 0 {
		return nil // git's index-pack takes an empty pack for a mistake
	}
	if _, err := r.Run(ctx, Opts{Stdin: f}, "index-pack", "--stdin"); err != nil {
		return fault.Wrap(fault.Invalid, "read the plan's commits", err).
			WithHint("a step damaged its repository; git fsck inside the sandbox names the objects")
	}
	return nil
}

// Scratch makes an empty object directory at an absolute path and returns the
// view that writes into it and reads what r reads.
func (r *Repo) Scratch(dir string) (*Repo, error) {
	if err := freshObjects(dir); err != nil {
		return nil, fault.Wrap(fileCode(err), "make scratch objects", err)
	}
	return r.WithObjects(dir), nil
}

// freshObjects makes an empty object directory, over one left by a crash. The
// path is inside a folder that is ambit's own.
func freshObjects(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, sub := range []string{"info", "pack"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	return nil
}

func negate(ids []string) []string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if IsID(id) {
			out = append(out, "^"+id)
		}
	}
	return out
}

func lines(values []string) io.Reader {
	return strings.NewReader(strings.Join(values, "\n") + "\n")
}

// Pack writes everything that tips reach, and have does not, into a new pack file
// at an absolute path, fsynced, and returns how many objects it holds.
func (r *Repo) Pack(ctx context.Context, path string, tips, have []string) (objects int, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return 0, fault.Wrap(fileCode(err), "write pack", err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil && closeErr != nil {
			err = fault.Wrap(fault.Internal, "write pack", closeErr)
		}
	}()
	for _, t := range tips {
		if !IsID(t) {
			return 0, fault.New(fault.Invalid, "write pack", "%q is not an object id", t)
		}
	}
	if _, err := r.Run(ctx, Opts{Stdin: lines(append(append([]string{}, tips...), negate(have)...)), Stdout: f}, "pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset"); err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, fault.Wrap(fault.Internal, "write pack", err)
	}
	return packCount(f)
}

// packCount reads the number of objects from a pack's header.
func packCount(f io.ReaderAt) (int, error) {
	var head [12]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return 0, fmt.Errorf("read pack: %w", err)
	}
	if string(head[:4]) != "PACK" {
		return 0, errors.New("read pack: not a pack file")
	}
	return int(head[8])<<24 | int(head[9])<<16 | int(head[10])<<8 | int(head[11]), nil
}

// unpackLimit is git's own: a fetched pack with fewer objects is stored as loose
// ones, so that small applies do not leave a pack each.
const unpackLimit = 100

// TakePack stores a pack's objects in the view's object directory, each checked,
// durable when it returns. Repeating it does no harm.
func (r *Repo) TakePack(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fault.Wrap(fileCode(err), "read pack", err)
	}
	defer f.Close() //nolint:errcheck // read only
	n, err := packCount(f)
	if err != nil || n == 0 {
		return err
	}
	args := []string{"index-pack", "--stdin", "--strict"}
	if n < unpackLimit {
		args = []string{"unpack-objects", "-q", "--strict"}
	}
	_, err = r.Run(ctx, Opts{Stdin: f, Durable: true}, args...)
	return err
}
