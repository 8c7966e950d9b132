package fsop

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// scene is a root under test with a directory outside that must not change.
type scene struct {
	t       *testing.T
	base    string
	root    *Dir
	in      string // path of the root
	outside string // path of what must stay untouched
	before  string
}

func newScene(t *testing.T, opts ...RootOption) *scene {
	t.Helper()
	base := t.TempDir()
	s := &scene{t: t, base: base, in: base + "/in", outside: base + "/out"}
	must(t, os.Mkdir(s.in, 0o755))
	must(t, os.MkdirAll(s.outside+"/sub", 0o755))
	must(t, os.WriteFile(s.outside+"/secret", []byte("outside"), 0o640))
	must(t, os.WriteFile(s.outside+"/sub/f", []byte("outside"), 0o600))
	must(t, os.WriteFile(s.in+"-evil", []byte("outside"), 0o600)) // V1: a sibling with the root's prefix
	old := time.Unix(1_000_000_000, 0)
	for _, p := range []string{"/out/sub/f", "/out/sub", "/out/secret", "/out", "/in-evil"} {
		must(t, os.Chtimes(base+p, old, old))
	}
	s.before = s.outsideState()
	root, err := OpenRoot(s.in, opts...)
	must(t, err)
	s.root = root
	t.Cleanup(func() { root.Close() })
	return s
}

func (s *scene) outsideState() string {
	return snapshot(s.t, s.outside) + snapshot(s.t, s.in+"-evil")
}

// untouched fails the test when anything outside changed.
func (s *scene) untouched() {
	s.t.Helper()
	if now := s.outsideState(); now != s.before {
		s.t.Fatalf("something outside changed:\nbefore:\n%s\nnow:\n%s", s.before, now)
	}
}

func (s *scene) write(rel, data string) {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Dir(s.in+"/"+rel), 0o755))
	must(s.t, os.WriteFile(s.in+"/"+rel, []byte(data), 0o644))
}

func (s *scene) symlink(target, rel string) {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Dir(s.in+"/"+rel), 0o755))
	must(s.t, os.Symlink(target, s.in+"/"+rel))
}

// snapshot spells a tree: kinds, modes, times, contents, links.
func snapshot(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := os.Lstat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%q %v %d", strings.TrimPrefix(path, root), fi.Mode(), fi.ModTime().UnixNano())
		switch {
		case fi.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(data))
		case fi.Mode()&fs.ModeSymlink != 0:
			text, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", text)
		}
		b.WriteByte('\n')
		return nil
	})
	must(t, err)
	return b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, codes ...fault.Code) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %v", codes)
		return
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Errorf("%v is not a fault.Error", err)
		return
	}
	for _, c := range codes {
		if f.Code == c {
			return
		}
	}
	t.Errorf("code %s (%v), want %v", f.Code, err, codes)
}

// within fails the test when f does not return in time: a hang is a defect of
// its own kind here.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s hangs", what)
	}
}

// specials makes one of each special file that this user can make.
func (s *scene) specials(dir string) map[string]Kind {
	s.t.Helper()
	must(s.t, os.MkdirAll(s.in+"/"+dir, 0o755))
	made := map[string]Kind{dir + "/fifo": KindFIFO, dir + "/socket": KindSocket, dir + "/whiteout": KindCharDev}
	must(s.t, unix.Mkfifo(s.in+"/"+dir+"/fifo", 0o666))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(s.t, err)
	// A socket's address is short: bind by the descriptor's spelling of the directory.
	at, err := s.root.OpenDir(dir)
	must(s.t, err)
	must(s.t, unix.Bind(fd, &unix.SockaddrUnix{Name: procPath(at.Fd()) + "/socket"}))
	at.Close()
	s.t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Mknod(s.in+"/"+dir+"/whiteout", unix.S_IFCHR, 0); err != nil {
		delete(made, dir+"/whiteout")
	}
	if err := unix.Mknod(s.in+"/"+dir+"/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err == nil {
		made[dir+"/null"] = KindCharDev
	}
	if err := unix.Mknod(s.in+"/"+dir+"/block", unix.S_IFBLK|0o600, int(unix.Mkdev(7, 250))); err == nil {
		made[dir+"/block"] = KindBlockDev
	}
	return made
}
