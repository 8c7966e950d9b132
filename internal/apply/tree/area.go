package tree

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// chooseStage says where slots can lie so that a rename reaches the target: in
// Dir when both are on one mount and one device (a btrfs subvolume is a device
// of its own), else in a folder inside the target.
func chooseStage(plan string, root, dir *fsop.Dir) (stage, error) {
	a, err := root.Stat(".")
	if err != nil {
		return stage{}, err
	}
	b, err := dir.Stat(".")
	if err != nil {
		return stage{}, err
	}
	if a.MntID == b.MntID && a.Dev() == b.Dev() {
		return stage{Name: stageName}, nil
	}
	return stage{InTarget: true, Name: stagePrefix(plan) + strings.TrimSuffix(strings.TrimPrefix(fsop.TempName(), ".ambit-"), ".tmp")}, nil
}

// stagePrefix begins the names of folders made inside a target.
func stagePrefix(plan string) string {
	if plan == "" || len(plan) > 100 || strings.ContainsAny(plan, "/\x00") {
		plan = "plan"
	}
	return ".ambit-" + plan + "-"
}

// open holds the slots' folder.
func (s stage) open(root, dir *fsop.Dir) (*fsop.Dir, error) {
	if s.InTarget {
		return root.OpenDir(s.Name)
	}
	return dir.OpenDir(s.Name)
}

// make makes the slots' folder, which must be new, and tries out what the steps
// rely on.
func (s stage) make(root, dir *fsop.Dir) (*fsop.Dir, error) {
	in := dir
	if s.InTarget {
		in = root
	}
	if err := in.Mkdir(s.Name, 0o700); err != nil {
		return nil, err
	}
	slots, err := in.OpenDir(s.Name)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(tryExchange(slots), in.Sync()); err != nil {
		_ = slots.Close()
		return nil, err
	}
	return slots, nil
}

// tryExchange proves that the file system can exchange two names atomically.
func tryExchange(slots *fsop.Dir) error {
	for _, n := range []string{"a", "b"} {
		if err := slots.Symlink(n, n); err != nil {
			return err
		}
	}
	err := slots.Exchange("a", slots, "b")
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EOPNOTSUPP) {
		info, _ := slots.Statfs()
		err = fault.New(fault.Unsupported, "prepare", "the file system of %s (%s) cannot exchange two names atomically", slots.Name(), info.Type).
			WithHint("use a directory on ext4, xfs, btrfs, tmpfs or overlayfs").WithCause(err)
	}
	if err != nil {
		return err
	}
	return errors.Join(slots.Remove("a"), slots.Remove("b"))
}

// drop removes the slots' folder with all it holds, but for foreign objects that
// were rescued into it: then it stays, and the path is returned.
func (s stage) drop(root, dir *fsop.Dir) (kept string, err error) {
	in := dir
	if s.InTarget {
		in = root
	}
	at, err := in.OpenDir(s.Name)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer at.Close()
	entries, err := at.ReadDir(".")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Name == rescueName {
			if err := at.Remove(rescueName); err != nil {
				kept = at.Name() + "/" + rescueName
			}
			continue
		}
		if err := at.RemoveAll(e.Name); err != nil {
			return kept, err
		}
	}
	if kept != "" {
		return kept, nil
	}
	if err := in.Remove(s.Name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	return "", in.Sync()
}

// mark leaves a durable sign in the plan's folder.
func mark(dir *fsop.Dir, name string) error { return fsop.WriteFileAtomic(dir, name, nil, 0o600) }

func marked(dir *fsop.Dir, name string) (bool, error) {
	_, err := dir.Stat(name)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}
