package fsop

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// operation is one way to touch a path; a refused one must return an error.
type operation struct {
	name string
	run  func(d *Dir, rel string) error
	// entry says that the operation acts on the entry itself, so that a link as
	// the last component is not refused (and not followed).
	entry bool
}

func operations() []operation {
	ctx := context.Background()
	return []operation{
		{"Open", func(d *Dir, rel string) error {
			f, _, err := d.Open(rel)
			if err == nil {
				f.Close()
			}
			return err
		}, false},
		{"OpenDir", func(d *Dir, rel string) error {
			x, err := d.OpenDir(rel)
			if err == nil {
				x.Close()
			}
			return err
		}, false},
		{"Stat", func(d *Dir, rel string) error { _, err := d.Stat(rel); return err }, true},
		{"Readlink", func(d *Dir, rel string) error { _, err := d.Readlink(rel); return err }, true},
		{"ReadDir", func(d *Dir, rel string) error { _, err := d.ReadDir(rel); return err }, false},
		{"ReadFile", func(d *Dir, rel string) error { _, err := ReadFile(d, rel, 1<<20); return err }, false},
		{"HashFile", func(d *Dir, rel string) error { _, _, err := HashFile(ctx, d, rel); return err }, false},
		{"Create", func(d *Dir, rel string) error {
			f, err := d.Create(rel, 0o644)
			if err == nil {
				f.Close()
			}
			return err
		}, false},
		{"Mkdir", func(d *Dir, rel string) error { return d.Mkdir(rel, 0o755) }, false},
		{"MkdirAll", func(d *Dir, rel string) error { return d.MkdirAll(rel, 0o755) }, false},
		{"MkdirAll below", func(d *Dir, rel string) error { return d.MkdirAll(rel+"/new/deep", 0o755) }, false},
		{"Symlink", func(d *Dir, rel string) error { return d.Symlink("x", rel) }, false},
		{"Mknod", func(d *Dir, rel string) error { return d.Mknod(rel, unix.S_IFIFO|0o600, 0) }, false},
		{"Link from", func(d *Dir, rel string) error { return d.Link(rel, d, "fresh-name") }, true},
		{"Link to", func(d *Dir, rel string) error { return d.Link("plain", d, rel) }, false},
		{"Rename from", func(d *Dir, rel string) error { return d.Rename(rel, d, "fresh-name") }, true},
		{"Rename to", func(d *Dir, rel string) error { return d.Rename("plain", d, rel) }, false},
		{"Replace", func(d *Dir, rel string) error { return d.Replace("plain", d, rel) }, true},
		{"Exchange", func(d *Dir, rel string) error { return d.Exchange("plain", d, rel) }, true},
		{"Remove", func(d *Dir, rel string) error { return d.Remove(rel) }, true},
		{"RemoveAll", func(d *Dir, rel string) error { return d.RemoveAll(rel) }, true},
		{"Chmod", func(d *Dir, rel string) error { return d.Chmod(rel, 0o777) }, false},
		{"Chown", func(d *Dir, rel string) error { return d.Chown(rel, os.Getuid(), os.Getgid()) }, true},
		{"Chtimes", func(d *Dir, rel string) error { return d.Chtimes(rel, time.Unix(1, 0)) }, true},
		{"GetXattr", func(d *Dir, rel string) error { _, err := d.GetXattr(rel, "user.x"); return err }, true},
		{"SetXattr", func(d *Dir, rel string) error { return d.SetXattr(rel, "user.x", []byte("v")) }, true},
		{"RemoveXattr", func(d *Dir, rel string) error { return d.RemoveXattr(rel, "user.x") }, true},
		{"ListXattr", func(d *Dir, rel string) error { _, err := d.ListXattr(rel); return err }, true},
		{"SyncDir", func(d *Dir, rel string) error { return d.SyncDir(rel) }, false},
		{"Walk", func(d *Dir, rel string) error {
			return d.Walk(ctx, rel, WalkOptions{}, func(string, Info) error { return nil })
		}, false},
		{"CopyFile from", func(d *Dir, rel string) error {
			_, err := CopyFile(ctx, d, rel, d, "fresh-name", CopyOptions{})
			return err
		}, false},
		{"CopyFile to", func(d *Dir, rel string) error {
			_, err := CopyFile(ctx, d, "plain", d, rel, CopyOptions{})
			return err
		}, false},
		{"CopyFile over", func(d *Dir, rel string) error {
			_, err := CopyFile(ctx, d, "plain", d, rel, CopyOptions{Replace: true})
			return err
		}, true},
		{"CopyTree from", func(d *Dir, rel string) error {
			_, err := CopyTree(ctx, d, rel, d, "fresh-name", TreeOptions{})
			return err
		}, false},
		{"CopyTree to", func(d *Dir, rel string) error {
			_, err := CopyTree(ctx, d, "plaindir", d, rel, TreeOptions{})
			return err
		}, false},
		{"WriteFileAtomic", func(d *Dir, rel string) error { return WriteFileAtomic(d, rel, []byte("ours"), 0o644) }, true},
	}
}

// TestV2_V8_V16_NoOperationFollowsALink runs every operation against every kind
// of link, as the last component and on the way.
func TestV2_V8_V16_NoOperationFollowsALink(t *testing.T) {
	t.Parallel()
	targets := map[string]string{
		"file outside, absolute":          "OUT/secret",
		"file outside, relative":          "../out/secret",
		"directory outside, absolute":     "OUT",
		"directory outside, relative":     "../out",
		"absent name outside":             "OUT/planted",
		"file inside":                     "plain",
		"file inside, absolute":           "IN/plain",
		"directory inside":                "plaindir",
		"itself":                          "link",
		"the root's own parent":           "..",
		"a magic link":                    "/proc/self/cwd",
		"a magic link to a root":          "/proc/self/root",
		"up through the root and back in": "../in/plain",
	}
	for what, target := range targets {
		for _, op := range operations() {
			t.Run(what+"/"+op.name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t)
				s.write("plain", "inside")
				s.write("plaindir/f", "inside")
				target := strings.NewReplacer("OUT", s.outside, "IN", s.in).Replace(target)
				s.symlink(target, "link")
				within(t, op.name, func() {
					err := op.run(s.root, "link")
					if err == nil && !op.entry {
						t.Errorf("%s of a link was not refused", op.name)
					}
					s.untouched()
					// On the way it is refused for everything.
					s2 := newScene(t)
					s2.write("plain", "inside")
					s2.write("plaindir/f", "inside")
					s2.symlink(target, "link")
					for _, below := range []string{"link/secret", "link/sub/f", "link/planted", "link/f"} {
						if err := op.run(s2.root, below); err == nil {
							t.Errorf("%s of %s was not refused", op.name, below)
						}
					}
					s2.untouched()
				})
			})
		}
	}
}

func TestV2_EntryOperationsActOnTheLinkItself(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.symlink(s.outside+"/secret", "l")
	info, err := s.root.Stat("l")
	must(t, err)
	if info.Kind != KindSymlink {
		t.Fatalf("Stat says %v", info.Kind)
	}
	text, err := s.root.Readlink("l")
	must(t, err)
	if text != s.outside+"/secret" {
		t.Fatalf("Readlink = %q", text)
	}
	must(t, s.root.Chtimes("l", time.Unix(7, 8)))
	if info, _ = s.root.Stat("l"); !info.Mtime.Equal(time.Unix(7, 8)) {
		t.Errorf("the link's time is %v", info.Mtime)
	}
	wantCode(t, s.root.Chmod("l", 0o777), fault.Invalid)
	must(t, s.root.Link("l", s.root, "l2"))
	must(t, s.root.Exchange("l", s.root, "l2"))
	must(t, s.root.Replace("l2", s.root, "l3"))
	must(t, WriteFileAtomic(s.root, "l3", []byte("ours"), 0o600))
	if data, _ := ReadFile(s.root, "l3", 100); string(data) != "ours" {
		t.Errorf("l3 holds %q", data)
	}
	must(t, s.root.Remove("l"))
	s.untouched()
}

// TestMagicLinks looks below /proc, whose links lead anywhere.
func TestMagicLinksAreRefused(t *testing.T) {
	t.Parallel()
	d, err := OpenRoot("/proc")
	must(t, err)
	defer d.Close()
	for _, rel := range []string{"self/root/etc/passwd", "self/cwd", "self/exe", "self/fd/0", "thread-self/root", "1/root/etc"} {
		if f, _, err := d.Open(rel); err == nil {
			f.Close()
			t.Errorf("Open(%s) was not refused", rel)
		}
		if x, err := d.OpenDir(rel); err == nil {
			x.Close()
			t.Errorf("OpenDir(%s) was not refused", rel)
		}
	}
}

func TestRootMayBeNamedThroughALink(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("f", "x")
	must(t, os.Symlink(s.in, s.base+"/alias"))
	d, err := OpenRoot(s.base + "/alias")
	must(t, err)
	defer d.Close()
	if data, err := ReadFile(d, "f", 10); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
	if d.Name() != s.base+"/alias" {
		t.Errorf("Name = %s", d.Name())
	}
	for _, bad := range []string{"", "relative", "./x"} {
		_, err := OpenRoot(bad)
		wantCode(t, err, fault.Invalid)
	}
	_, err = OpenRoot(s.in + "/f")
	wantCode(t, err, fault.Conflict)
	_, err = OpenRoot(s.in + "/absent")
	wantCode(t, err, fault.NotFound)
}
