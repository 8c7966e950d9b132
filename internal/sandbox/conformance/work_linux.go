package conformance

import (
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/changeset"
)

// run makes one modification; see Op.
func (o Op) run() {
	switch o.Do {
	case "write":
		mode := o.Mode
		if mode == 0 {
			mode = 0o644
		}
		_ = os.WriteFile(o.Path, []byte(o.Data), os.FileMode(mode))
	case "append":
		if f, err := os.OpenFile(o.Path, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			_, _ = f.WriteString(o.Data)
			_ = f.Close()
		}
	case "truncate":
		_ = os.Truncate(o.Path, 0)
	case "remove":
		_ = os.Remove(o.Path)
	case "removeall":
		_ = os.RemoveAll(o.Path)
	case "mkdir":
		mode := o.Mode
		if mode == 0 {
			mode = 0o755
		}
		_ = os.Mkdir(o.Path, os.FileMode(mode))
	case "rename":
		_ = os.Rename(o.Path, o.To)
	case "chmod":
		mode := o.Mode
		if info, err := os.Lstat(o.Path); err == nil && info.IsDir() {
			mode |= 0o700 // the suite itself has to look into it
		}
		_ = unix.Fchmodat(unix.AT_FDCWD, o.Path, mode, 0)
	case "symlink":
		_ = os.Symlink(o.To, o.Path)
	case "link":
		_ = os.Link(o.Path, o.To)
	case "setxattr":
		_ = unix.Lsetxattr(o.Path, o.To, []byte(o.Data), 0)
	case "fifo":
		_ = unix.Mkfifo(o.Path, 0o600)
	}
}

// writeSnapshot reads the working directory.
func writeSnapshot(w io.Writer, skipGit bool) error {
	nodes, err := readTree(".", skipGit)
	if err != nil {
		return err
	}
	return gob.NewEncoder(w).Encode(nodes)
}

// readTree describes everything below a directory, by path relative to it.
func readTree(root string, skipGit bool) ([]Node, error) {
	var nodes []Node
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(root, path)
		if rerr != nil {
			return rerr
		}
		if err != nil {
			if os.IsPermission(err) && len(nodes) > 0 && nodes[len(nodes)-1].Path == rel {
				nodes[len(nodes)-1].Entry.Link = "unreadable"
				return nil
			}
			return err
		}
		if rel == "." {
			return nil
		}
		if skipGit && rel == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		e, err := readEntry(path)
		if err != nil {
			return err
		}
		nodes = append(nodes, Node{rel, e})
		return nil
	})
	return nodes, err
}

func readEntry(path string) (changeset.Entry, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return changeset.Entry{}, err
	}
	e := changeset.Entry{Mode: st.Mode & 0o7777}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		e.Kind = changeset.Dir
	case unix.S_IFLNK:
		e.Kind = changeset.Symlink
		text, err := os.Readlink(path)
		e.Link, e.Mode = text, 0
		return e, err
	case unix.S_IFREG:
		e.Kind, e.Size = changeset.File, st.Size
		f, err := os.Open(path)
		if os.IsPermission(err) {
			e.Kind = kindUnreadable
			break
		}
		if err != nil {
			return e, err
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return e, err
		}
		e.Hash = hex.EncodeToString(h.Sum(nil))
	default:
		e.Kind = kindSpecial
		return e, nil
	}
	buf := make([]byte, 64<<10)
	n, err := unix.Llistxattr(path, buf)
	if err != nil {
		return e, nil //nolint:nilerr // a file system without attributes has none
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		if !strings.HasPrefix(name, "user.") {
			continue
		}
		val := make([]byte, 64<<10)
		if k, err := unix.Lgetxattr(path, name, val); err == nil {
			if e.Xattrs == nil {
				e.Xattrs = map[string]string{}
			}
			e.Xattrs[name] = string(val[:k])
		}
	}
	return e, nil
}

// ReadTree is Snapshot of a directory on the host.
func ReadTree(root string, skipGit bool) (Tree, error) {
	nodes, err := readTree(root, skipGit)
	if err != nil {
		return nil, err
	}
	t := Tree{}
	for _, n := range nodes {
		t[n.Path] = n.Entry
	}
	return t, nil
}
