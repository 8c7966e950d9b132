package fsop

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// TestMain sees to it that no test leaves a goroutine or a descriptor behind.
func TestMain(m *testing.M) {
	before := openDescriptors()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		if after := openDescriptors(); len(after) > len(before)+2 { // the runtime's own poller
			fmt.Fprintf(os.Stderr, "descriptors left open:\n%s\n", strings.Join(after, "\n"))
			code = 1
		}
	}
	os.Exit(code)
}

func openDescriptors() []string {
	var open []string
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if text, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			open = append(open, e.Name()+" "+text)
		}
	}
	return open
}

// TestEveryNthCallFails runs each compound operation with its n-th file-system
// call failing, for every n: the error comes back, temporary files do not stay.
func TestEveryNthCallFails(t *testing.T) {
	t.Parallel()
	ops := map[string]func(t *testing.T, d *Dir) error{
		"WriteFileAtomic": func(_ *testing.T, d *Dir) error { return WriteFileAtomic(d, "src/a/f", []byte("new"), 0o600) },
		"CopyFile": func(t *testing.T, d *Dir) error {
			_, err := CopyFile(t.Context(), d, "src/a/f", d, "copied", CopyOptions{Hash: true, Sync: true})
			return err
		},
		"CopyTree": func(t *testing.T, d *Dir) error {
			_, err := CopyTree(t.Context(), d, "src", d, "dst", TreeOptions{CopyOptions: CopyOptions{Sync: true}})
			return err
		},
		"RemoveAll": func(_ *testing.T, d *Dir) error { return d.RemoveAll("src") },
		"MkdirAll":  func(_ *testing.T, d *Dir) error { return d.MkdirAll("x/y/z", 0o755) },
		"Walk": func(t *testing.T, d *Dir) error {
			return d.Walk(t.Context(), ".", WalkOptions{}, func(string, Info) error { return nil })
		},
	}
	for name, op := range ops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := int64(1); ; n++ {
				base := t.TempDir()
				must(t, os.MkdirAll(base+"/src/a/b", 0o755))
				must(t, os.WriteFile(base+"/src/a/f", []byte("old"), 0o644))
				must(t, os.Link(base+"/src/a/f", base+"/src/a/g"))
				must(t, os.Symlink("x", base+"/src/l"))
				var calls atomic.Int64
				injected := fmt.Errorf("injected: %w", unix.ENOSPC)
				d, err := OpenRoot(base, WithIntercept(func(string, string) error {
					if calls.Add(1) == n+1 { // the first is OpenRoot's own
						return injected
					}
					return nil
				}))
				must(t, err)
				err = op(t, d)
				d.Close()
				if calls.Load() <= n {
					must(t, err)
					if n < 3 {
						t.Errorf("only %d calls are seen by an Intercept", n)
					}
					return
				}
				if !errors.Is(err, unix.ENOSPC) {
					t.Errorf("call %d failed, and the error is %v", n, err)
				}
				wantCode(t, err, fault.Unavailable)
				for _, line := range strings.Split(snapshot(t, base), "\n") {
					if strings.Contains(line, ".tmp") {
						t.Errorf("call %d failed and left %s", n, line)
					}
				}
				if name == "WriteFileAtomic" {
					if data, _ := os.ReadFile(base + "/src/a/f"); string(data) != "old" && string(data) != "new" {
						t.Errorf("call %d failed and left %q", n, data)
					}
				}
			}
		})
	}
}
