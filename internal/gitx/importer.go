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
	"github.com/ambit-run/ambit/internal/fsop"
)

// BaseObjects is the name, beside a private object directory, at which a sandbox
// sees the real repository's objects read-only. "../" + BaseObjects is the only
// relative alternate that Import takes for harmless.
const BaseObjects = "base-objects"

// Import brings the history of one commit out of a hostile object directory into
// the quarantine at dir, an absolute path of an existing folder that is the
// caller's own. have are commits (any objects) whose history the repository holds.
// It returns the view that reads the quarantine beside the repository and writes
// into the quarantine.
//
// Nothing of the directory is believed: loose objects and pack files are copied
// by descriptor (never the indexes, commit graphs, bitmaps or keep files that lie
// beside them), alternates that name anything but the repository itself are
// refused, indexes are made anew, and of all that only what the tip reaches is
// packed again and checked object by object by index-pack --strict, as git checks
// a push. The repository is not written to. Import may be repeated after a crash.
//
// Errors: denied (foreign alternates), not_found (the tip is not there), invalid
// (damaged or refused objects, naming git's reason).
func (r *Repo) Import(ctx context.Context, src *fsop.Dir, tip string, have []string, dir string) (*Repo, error) {
	if !r.plain {
		return nil, fault.New(fault.Internal, "import objects", "not a plain view")
	}
	if !IsID(tip) {
		return nil, fault.New(fault.Invalid, "import objects", "%.80q is not an object id", tip)
	}
	if err := r.checkAlternates(src); err != nil {
		return nil, err
	}
	raw := filepath.Join(dir, "raw")
	if err := freshObjects(raw); err != nil {
		return nil, fault.Wrap(fileCode(err), "import objects", err)
	}
	in := r.WithObjects(raw)
	if err := in.takeIn(ctx, src, raw); err != nil {
		return nil, err
	}
	kind, err := in.Output(ctx, Opts{Values: []string{tip}}, "cat-file", "-t")
	if err != nil || kind != "commit" {
		return nil, fault.New(fault.NotFound, "import objects", "commit %s is not in %s", tip, src.Name()).WithCause(err)
	}
	clean := filepath.Join(dir, "objects")
	if err := freshObjects(clean); err != nil {
		return nil, fault.Wrap(fileCode(err), "import objects", err)
	}
	out := r.WithObjects(clean)
	pack := filepath.Join(dir, "import.pack")
	if _, err := in.Pack(ctx, pack, []string{tip}, have); err != nil {
		return nil, fault.Wrap(fault.Invalid, "pack the plan's commits", err)
	}
	if err := out.TakePack(ctx, pack); err != nil {
		return nil, fault.Wrap(fault.Invalid, "check the plan's commits", err).
			WithHint("a step wrote objects that git refuses; git fsck inside the sandbox names them")
	}
	if err := removeOwn(raw, pack); err != nil {
		return nil, fault.Wrap(fault.Internal, "import objects", err)
	}
	// As git does for a push: everything the tip needs is here or in the repository.
	values := append([]string{tip}, negate(have)...)
	if _, err := out.Run(ctx, Opts{Stdin: lines(values), Stdout: discard{}}, "rev-list", "--objects", "--stdin"); err != nil {
		return nil, fault.Wrap(fault.Invalid, "check the plan's commits", err)
	}
	return out, nil
}

// Quarantine returns the view that Import made of dir earlier.
func (r *Repo) Quarantine(dir string) *Repo { return r.WithObjects(filepath.Join(dir, "objects")) }

// Scratch makes an empty object directory at an absolute path and returns the
// view that writes into it and reads what r reads.
func (r *Repo) Scratch(dir string) (*Repo, error) {
	if err := freshObjects(dir); err != nil {
		return nil, fault.Wrap(fileCode(err), "make scratch objects", err)
	}
	return r.WithObjects(dir), nil
}

// checkAlternates refuses an object directory that stands on anything but the
// repository it is imported into: it could draw in objects of any repository
// that the person may read.
func (r *Repo) checkAlternates(src *fsop.Dir) error {
	for _, name := range []string{"info/alternates", "info/http-alternates"} {
		data, err := fsop.ReadFile(src, name, 64<<10)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			if info, statErr := src.Stat(name); statErr == nil && info.Kind == fsop.KindCharDev {
				continue // a whiteout: the file was removed inside
			}
			return err
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			if line == "" || line[0] == '#' || line == r.ObjectDir() || line == "../"+BaseObjects {
				continue
			}
			return fault.New(fault.Denied, "import objects", "%s names another repository's objects: %.200q", name, line).
				WithPaths(filepath.Join(src.Name(), name)).
				WithHint("a step has changed where its git looks for objects; remove that line inside the sandbox or restore a checkpoint")
		}
	}
	return nil
}

// takeIn copies loose objects and packs, and indexes the packs anew.
func (r *Repo) takeIn(ctx context.Context, src *fsop.Dir, raw string) error {
	entries, err := src.ReadDir(".")
	if err != nil {
		return err
	}
	dst, err := fsop.OpenRoot(raw)
	if err != nil {
		return err
	}
	defer dst.Close() //nolint:errcheck // nothing is pending in a directory handle
	for _, e := range entries {
		if e.Kind == fsop.KindDir && isHex(e.Name, 2) {
			if err := takeLoose(ctx, src, dst, e.Name); err != nil {
				return err
			}
		}
	}
	packs, err := src.ReadDir("pack")
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range packs {
		if e.Kind != fsop.KindFile || !strings.HasPrefix(e.Name, "pack-") || !strings.HasSuffix(e.Name, ".pack") {
			continue
		}
		f, _, err := src.Open("pack/" + e.Name)
		if err != nil {
			return err
		}
		_, err = r.Run(ctx, Opts{Stdin: f}, "index-pack", "--stdin")
		_ = f.Close() // read only
		if err != nil {
			return fault.Wrap(fault.Invalid, "read "+e.Name, err)
		}
	}
	return nil
}

func takeLoose(ctx context.Context, src, dst *fsop.Dir, fan string) error {
	names, err := src.ReadDir(fan)
	if err != nil {
		return err
	}
	made := false
	for _, n := range names {
		if n.Kind != fsop.KindFile || (!isHex(n.Name, 38) && !isHex(n.Name, 62)) {
			continue
		}
		if !made {
			if err := dst.MkdirAll(fan, 0o700); err != nil {
				return err
			}
			made = true
		}
		rel := fan + "/" + n.Name
		if _, err := fsop.CopyFile(ctx, src, rel, dst, rel, fsop.CopyOptions{DropSetuid: true, SkipXattr: func(string) bool { return true }}); err != nil {
			return err
		}
	}
	return nil
}

func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
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

func removeOwn(paths ...string) error {
	var errs []error
	for _, p := range paths {
		errs = append(errs, os.RemoveAll(p))
	}
	return errors.Join(errs...)
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
