package view

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeHost is a machine in a table: a path maps to "dir", "link:TARGET", or a
// file's contents. Folders above a path exist by themselves.
type fakeHost struct {
	files map[string]string
	uid   int
	env   map[string]string
	same  map[string]string // path → path of the same object
}

func newHost(uid int, files map[string]string) *fakeHost {
	h := &fakeHost{files: map[string]string{"/": "dir"}, uid: uid, env: map[string]string{}, same: map[string]string{}}
	for _, p := range []string{"/usr/bin", "/etc", "/var/tmp", "/opt", "/home", "/root", "/proc", "/sys", "/dev", "/run", "/tmp", "/mnt", "/media"} {
		h.put(p, "dir")
	}
	h.put("/bin", "link:usr/bin")
	h.put("/usr/bin/sh", "x")
	for p, c := range files {
		h.put(p, c)
	}
	return h
}

func (h *fakeHost) put(p, c string) {
	h.files[p] = c
	for d := path.Dir(p); h.files[d] == ""; d = path.Dir(d) {
		h.files[d] = "dir"
	}
}

// walk resolves every component; last says whether the last one, too.
func (h *fakeHost) walk(p string, last bool) (string, error) {
	cur := "/"
	parts := strings.Split(strings.Trim(path.Clean(p), "/"), "/")
	for hops := 0; len(parts) > 0; {
		name := parts[0]
		parts = parts[1:]
		if name == "" {
			continue
		}
		next := path.Join(cur, name)
		c, ok := h.files[next]
		if !ok {
			return "", &fs.PathError{Op: "walk", Path: p, Err: fs.ErrNotExist}
		}
		if to, link := strings.CutPrefix(c, "link:"); link && (last || len(parts) > 0) {
			if hops++; hops > 40 {
				return "", &fs.PathError{Op: "walk", Path: p, Err: syscall.ELOOP}
			}
			if !path.IsAbs(to) {
				to = path.Join(cur, to)
			}
			parts = append(strings.Split(strings.Trim(path.Clean(to), "/"), "/"), parts...)
			cur = "/"
			continue
		}
		cur = next
	}
	return cur, nil
}

type fakeInfo struct {
	name string
	c    string
}

func (i fakeInfo) Name() string       { return i.name }
func (i fakeInfo) Size() int64        { return int64(len(i.c)) }
func (i fakeInfo) ModTime() time.Time { return time.Time{} }
func (i fakeInfo) Sys() any           { return nil }
func (i fakeInfo) IsDir() bool        { return i.c == "dir" }
func (i fakeInfo) Mode() fs.FileMode {
	switch {
	case i.c == "dir":
		return fs.ModeDir | 0o755
	case strings.HasPrefix(i.c, "link:"):
		return fs.ModeSymlink | 0o777
	case strings.HasPrefix(i.c, "secret:"):
		return 0o600
	case strings.HasPrefix(i.c, "socket:"):
		return fs.ModeSocket | 0o777
	}
	return 0o755
}

func (h *fakeHost) info(p string, last bool) (fs.FileInfo, error) {
	r, err := h.walk(p, last)
	if err != nil {
		return nil, err
	}
	return fakeInfo{path.Base(r), h.files[r]}, nil
}

func (h *fakeHost) Lstat(p string) (fs.FileInfo, error) { return h.info(p, false) }
func (h *fakeHost) Stat(p string) (fs.FileInfo, error)  { return h.info(p, true) }
func (h *fakeHost) Readlink(p string) (string, error) {
	r, err := h.walk(p, false)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(h.files[r], "link:")
	if !ok {
		return "", &fs.PathError{Op: "readlink", Path: p, Err: syscall.EINVAL}
	}
	return to, nil
}

func (h *fakeHost) ReadDir(p string) ([]fs.DirEntry, error) {
	r, err := h.walk(p, true)
	if err != nil {
		return nil, err
	}
	if h.files[r] != "dir" {
		return nil, errors.New("no folder")
	}
	var es []fs.DirEntry
	for _, f := range slices.Sorted(maps.Keys(h.files)) {
		if f != "/" && path.Dir(f) == r {
			es = append(es, fs.FileInfoToDirEntry(fakeInfo{path.Base(f), h.files[f]}))
		}
	}
	return es, nil
}

func (h *fakeHost) ReadHead(p string, n int) ([]byte, error) {
	r, err := h.walk(p, true)
	if err != nil {
		return nil, err
	}
	c := h.files[r]
	if c == "dir" {
		return nil, errors.New("a folder")
	}
	return []byte(c[:min(n, len(c))]), nil
}

func (h *fakeHost) Resolve(p string) (string, error) { return h.walk(p, true) }
func (h *fakeHost) Same(a, b string) bool {
	x, err := h.walk(a, true)
	y, err2 := h.walk(b, true)
	return err == nil && err2 == nil && (x == y || h.same[x] == y || h.same[y] == x)
}
func (h *fakeHost) UID() int               { return h.uid }
func (h *fakeHost) Getenv(n string) string { return h.env[n] }

var _ Host = (*fakeHost)(nil)

func TestFakeHostFollowsLinks(t *testing.T) {
	t.Parallel()
	h := newHost(1, map[string]string{"/a/b": "text", "/l": "link:a", "/loop": "link:loop"})
	if p, err := h.Resolve("/l/b"); err != nil || p != "/a/b" {
		t.Error(p, err)
	}
	if _, err := h.Resolve("/loop/x"); err == nil {
		t.Error("a loop resolves")
	}
}
