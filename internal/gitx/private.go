package gitx

import (
	"bufio"
	"bytes"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// ReadPrivateRef reads one reference from a git directory that a sandbox writes
// to, laid out by ambit with references as files. Git never runs on such a
// directory: its configuration is the sandbox's. "" means there is no such
// reference. A symbolic reference is followed once. Errors: unsupported, when
// references are no longer kept as files there; invalid, when what lies there is
// none.
//
// The whole of it is only a claim of the sandbox; what it names has to be
// imported before it is used.
func ReadPrivateRef(dir *fsop.Dir, name string) (string, error) {
	id, target, err := readRef(dir, name)
	if err != nil || target == "" {
		return id, err
	}
	id, target, err = readRef(dir, target)
	if err == nil && target != "" {
		return "", fault.New(fault.Invalid, "read reference", "%s goes round in symbolic references", name)
	}
	return id, err
}

// ReadPrivateHead returns the branch that such a directory's HEAD names, or the
// commit when it is detached.
func ReadPrivateHead(dir *fsop.Dir) (Head, error) {
	id, target, err := readRef(dir, "HEAD")
	if err != nil {
		return Head{}, err
	}
	if target == "" {
		return Head{Commit: id}, nil
	}
	id, err = ReadPrivateRef(dir, target)
	return Head{Commit: id, Branch: target}, err
}

func readRef(dir *fsop.Dir, name string) (id, target string, err error) {
	if !refName(name) {
		return "", "", fault.New(fault.Invalid, "read reference", "%q is not a reference", name)
	}
	if tables, statErr := dir.Stat("reftable"); statErr == nil && tables.Kind == fsop.KindDir {
		return "", "", fault.New(fault.Unsupported, "read reference", "a step has changed how %s keeps its references", dir.Name()).
			WithHint("run git refs migrate --ref-format=files in it, or restore a checkpoint")
	}
	data, err := fsop.ReadFile(dir, name, 4096)
	switch {
	case fault.Is(err, fault.NotFound):
		return fromPacked(dir, name)
	case err != nil:
		// A directory in the place of a reference is no reference.
		if info, statErr := dir.Stat(name); statErr == nil && info.Kind == fsop.KindDir {
			return fromPacked(dir, name)
		}
		return "", "", err
	}
	text := strings.TrimRight(string(data), "\n")
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		ref = strings.TrimSpace(ref)
		if !refName(ref) {
			return "", "", fault.New(fault.Invalid, "read reference", "%s stands for %q, which is not a reference", name, ref)
		}
		return "", ref, nil
	}
	if !IsID(text) {
		return "", "", fault.New(fault.Invalid, "read reference", "%s holds %.80q", name, text)
	}
	return text, "", nil
}

// maxPackedRefs bounds a packed-refs file: some million references.
const maxPackedRefs = 256 << 20

func fromPacked(dir *fsop.Dir, name string) (id, target string, err error) {
	data, err := fsop.ReadFile(dir, "packed-refs", maxPackedRefs)
	if fault.Is(err, fault.NotFound) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	sc := bufio.NewScanner(bytes.NewReader(data))
	for sc.Scan() {
		if value, ref, ok := strings.Cut(sc.Text(), " "); ok && ref == name && IsID(value) {
			return value, "", nil
		}
	}
	return "", "", nil
}

// refName accepts "HEAD" and names below refs/ that stay below it (V24).
func refName(name string) bool {
	if name == "HEAD" {
		return true
	}
	return strings.HasPrefix(name, "refs/") && fsop.CheckRel(name) == nil && CheckValue(name) == nil &&
		!strings.Contains(name, "..") && !strings.HasSuffix(name, ".lock")
}
