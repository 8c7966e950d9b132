package tree

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop/fsoptest"
)

// TestOwnClosedFoldersAreOpenedForAWhile runs as a user: root is never refused.
func TestOwnClosedFoldersAreOpenedForAWhile(t *testing.T) {
	t.Parallel()
	if !fsoptest.AsUser(t) {
		return
	}
	before := world{
		"ro/f": file("x"), "ro/gone": file("y"), "ro": dirMode2(0o555), "rodel/f": file("z"), "rodel": dirMode2(0o500),
		"meta": dirMode2(0o500), "torw/f": file("x"), "torw": dirMode2(0o500), "deep/a/b/f": file("x"), "deep": dirMode2(0o555), "deep/a": dirMode2(0o555), "deep/a/b": dirMode2(0o555),
	}.parents()
	after := before.with(world{
		"ro/f": file("X"), "ro/gone": {}, "ro/new": file("n"), "rodel": {}, "rodel/f": {}, "meta": dirMode2(0o700), "torw": dirMode2(0o755), "torw/f": {},
		"deep/a/b/f": file("Y"), "new": dirMode2(0o555), "new/f": fileMode("x", 0o400), "new/sub": dirMode2(0o500), "new/sub/g": file("g"),
	})
	eachSpot(t, func(t *testing.T, plan string) { roundTrip(t, plan, before, after) })
}

// TestWhatMayNotBeWrittenIsRefusedBeforehand: folders and files of another owner.
func TestWhatMayNotBeWrittenIsRefusedBeforehand(t *testing.T) {
	t.Parallel()
	if !fsoptest.AsUser(t) {
		return
	}
	f := newFixture(t, t.TempDir()+"/plan", world{"d/f": file("x")}.parents(), world{"d/f": file("y")}.parents())
	f.req.Resource.Path = "/etc"
	f.req.Set = &changeset.Set{Changes: []changeset.Change{
		{Path: "passwd", Op: changeset.Modified, Before: etcEntry(t, "passwd"), After: file("x").entry()},
		{Path: "created", Op: changeset.Created, After: file("x").entry()},
	}}
	_, err := f.tgt.Prepare(t.Context(), f.req)
	wantFault(t, err, fault.Denied, "created", "passwd")
}

func etcEntry(t *testing.T, name string) *changeset.Entry {
	t.Helper()
	data, err := os.ReadFile("/etc/" + name)
	check(t, err)
	fi, err := os.Stat("/etc/" + name)
	check(t, err)
	return fileMode(string(data), uint32(fi.Mode().Perm())).entry()
}

// TestOwnersAsRoot: a replacement belongs to whom the original belonged.
func TestOwnersAsRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("files of other owners need root")
	}
	before := world{"f": file("x"), "l": link("a"), "d/g": file("x"), "gone": file("x"), "shared": dirMode2(0o2775)}.parents()
	after := before.with(world{"f": file("y"), "l": link("b"), "d/g": fileMode("x", 0o755), "gone": {}, "shared/new": file("n"), "shared/sub/new": file("n"), "shared/sub": dirMode2(0o2755)})
	eachSpot(t, func(t *testing.T, plan string) {
		f := newFixture(t, plan, before, after)
		for _, p := range []string{"f", "l", "d/g", "gone", "shared"} {
			check(t, os.Lchown(f.root+"/"+p, 12, 34))
		}
		check(t, os.Chmod(f.root+"/shared", 0o775|os.ModeSetgid))
		owners := func(want map[string]string) {
			t.Helper()
			for p, o := range want {
				var st unix.Stat_t
				check(t, unix.Lstat(f.root+"/"+p, &st))
				if got := fmt.Sprintf("%d:%d", st.Uid, st.Gid); got != o {
					t.Errorf("%s belongs to %s, want %s", p, got, o)
				}
			}
		}
		state := f.prepare()
		check(t, f.tgt.Commit(t.Context(), state))
		f.is(after, "after Commit")
		owners(map[string]string{"f": "12:34", "l": "12:34", "d/g": "12:34", "shared/new": "0:34", "shared/sub": "0:34", "shared/sub/new": "0:34"})
		check(t, f.tgt.Undo(t.Context(), state))
		f.restored("after Undo")
		owners(map[string]string{"f": "12:34", "l": "12:34", "d/g": "12:34", "gone": "12:34"})
	})
}

// TestNoSpace: a target without room is refused before anything is written.
func TestNoSpace(t *testing.T) {
	if !fsoptest.InNamespace(t) {
		return
	}
	base := t.TempDir()
	mount := func(name, opts string) string {
		dir := base + "/" + name
		check(t, os.Mkdir(dir, 0o755))
		check(t, unix.Mount("tmpfs", dir, "tmpfs", 0, opts))
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		return dir
	}
	small, few := mount("small", "size=4m"), mount("few", "nr_inodes=40")
	before, after := world{"f": file("x")}, world{"f": file(strings.Repeat("y", 5<<20))}
	many := world{"f": file("x")}
	for i := range 60 {
		many[fmt.Sprint("n", i)] = file("")
	}
	for _, c := range []struct {
		in, plan string
		after    world
	}{{small, small + "/plan", after}, {small, base + "/plan1", after}, {few, few + "/plan", many}, {few, base + "/plan2", many}} {
		f := fixtureIn(t, c.in, c.plan, before, c.after)
		_, err := f.tgt.Prepare(t.Context(), f.req)
		wantFault(t, err, fault.Unavailable)
		f.restored("after the refusal")
		f.noTraces("after the refusal")
	}
	// A path on another mount inside the resource is none of it.
	f := fixtureIn(t, base, base+"/plan3", world{"m/x": file("x")}.parents(), world{"m/x": file("y")}.parents())
	check(t, unix.Mount(small, f.root+"/m", "", unix.MS_BIND, ""))
	check(t, os.WriteFile(f.root+"/m/x", []byte("x"), 0o644))
	_, err := f.tgt.Prepare(t.Context(), f.req)
	wantFault(t, err, fault.Conflict, "m/x")
	check(t, unix.Unmount(f.root+"/m", unix.MNT_DETACH))
	// Read-only.
	g := fixtureIn(t, base, base+"/plan4", before, world{"f": file("y")})
	check(t, unix.Mount(g.root, g.root, "", unix.MS_BIND, ""))
	check(t, unix.Mount("", g.root, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	_, err = g.tgt.Prepare(t.Context(), g.req)
	wantFault(t, err, fault.Denied)
	check(t, unix.Unmount(g.root, unix.MNT_DETACH))
}

// TestNoSpaceToUndo: where the undo needs copies in the target, a target without
// room is refused before anything changes, and an undo that runs out of it all the
// same leaves nothing behind and can be repeated.
func TestNoSpaceToUndo(t *testing.T) {
	if !fsoptest.InNamespace(t) {
		return
	}
	base := t.TempDir()
	small := base + "/small"
	check(t, os.Mkdir(small, 0o755))
	check(t, unix.Mount("tmpfs", small, "tmpfs", 0, "size=8m"))
	t.Cleanup(func() { _ = unix.Unmount(small, unix.MNT_DETACH) })
	f := fixtureIn(t, small, base+"/plan", world{"f": file(strings.Repeat("x", 2<<20)), "g": file("g")}, world{"f": file("y"), "g": file("h")})
	state := f.prepare()
	check(t, f.tgt.Commit(t.Context(), state))
	check(t, f.tgt.Verify(t.Context(), state))
	check(t, f.tgt.CheckUndo(t.Context(), state))
	var fs unix.Statfs_t
	check(t, unix.Statfs(small, &fs))
	filler := small + "/filler"
	check(t, os.WriteFile(filler, make([]byte, int(fs.Bavail)*int(fs.Bsize)-1<<20), 0o600))
	wantFault(t, f.tgt.CheckUndo(t.Context(), state), fault.Unavailable)
	wantFault(t, f.tgt.Undo(t.Context(), state), fault.Unavailable)
	f.is(world{"f": file("y"), "g": file("h")}, "after an undo without space")
	f.noTraces("after an undo without space")
	check(t, os.Remove(filler))
	check(t, f.tgt.CheckUndo(t.Context(), state))
	check(t, f.tgt.Undo(t.Context(), state))
	f.restored("after Undo")
	f.noTraces("after Undo")
}

// TestOnOverlay: on an overlay, folders of the lower layer cannot be renamed.
func TestOnOverlay(t *testing.T) {
	if !fsoptest.InNamespace(t) {
		return
	}
	base := t.TempDir()
	for _, d := range []string{"lower", "upper", "work", "merged"} {
		check(t, os.Mkdir(base+"/"+d, 0o755))
	}
	rich.build(t, base+"/lower/real")
	world{"secret": fileMode("outside", 0o600), "sub/f": file("outside")}.parents().build(t, base+"/lower/out")
	opts := fmt.Sprintf("userxattr,lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", base)
	if err := unix.Mount("overlay", base+"/merged", "overlay", 0, opts); err != nil {
		t.Skipf("no overlay here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(base+"/merged", unix.MNT_DETACH) })
	for _, plan := range []string{base + "/merged/plan", base + "/plan"} {
		f := newFixture(t, plan, rich, richer)
		f.root, f.out = base+"/merged/real", base+"/merged/out"
		f.req.Resource.Path = f.root
		f.start = scan(t, f.root)
		state := f.prepare()
		for range 2 {
			check(t, f.tgt.Commit(t.Context(), state))
			check(t, f.tgt.Verify(t.Context(), state))
			f.is(richer, "after Commit")
		}
		check(t, f.tgt.CheckUndo(t.Context(), state))
		for range 2 {
			check(t, f.tgt.Undo(t.Context(), state))
			f.restored("after Undo")
			f.noTraces("after Undo")
		}
	}
}

func TestOnXfsAndBtrfs(t *testing.T) {
	for _, fstype := range []string{"xfs", "btrfs"} {
		t.Run(fstype, func(t *testing.T) {
			dir, ok := fsoptest.OnImage(t, fstype)
			if !ok {
				return
			}
			f := fixtureIn(t, dir, dir+"/plan", rich, richer)
			state := f.prepare()
			check(t, f.tgt.Commit(t.Context(), state))
			check(t, f.tgt.Verify(t.Context(), state))
			f.is(richer, "after Commit")
			check(t, f.tgt.Undo(t.Context(), state))
			f.restored("after Undo")
			g := fixtureIn(t, dir, t.TempDir()+"/plan", rich, richer)
			state = g.prepare()
			check(t, g.tgt.Commit(t.Context(), state))
			check(t, g.tgt.Verify(t.Context(), state))
			g.noTraces("after Commit")
			check(t, g.tgt.Undo(t.Context(), state))
			g.restored("after Undo")
		})
	}
}
