package tree

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
)

func TestV17_PathsThatLeaveTheResourceAreRefused(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"../out/secret", "a/../../out/secret", "/etc/passwd", "..", ".", "", "a//b", "a/./b", "x\x00y"} {
		f := newFixture(t, t.TempDir()+"/plan", world{"a": dir()}, world{"a": dir()})
		f.req.Set.Changes = []changeset.Change{{Path: p, Op: changeset.Created, After: file("x").entry()}}
		f.req.Src = worlds{nil, world{p: file("x")}}
		_, err := f.tgt.Prepare(t.Context(), f.req)
		wantFault(t, err, fault.Denied)
		f.is(world{"a": dir()}, "after "+p)
	}
}

// TestV12_V16_V18_O84_LinksInTheTargetAreNeverFollowed: a link that arrived by a
// checkout, or was planted, leads outside. Whatever the plan does below or at it,
// nothing outside changes.
func TestV12_V16_V18_O84_LinksInTheTargetAreNeverFollowed(t *testing.T) {
	t.Parallel()
	before := world{"lib": link("../out"), "conf": link("../out/secret"), "dangling": link("../out/planted"), "up": link("..")}
	changes := map[string]world{
		"create below a link":            {"lib/new": file("x")},
		"create a folder below a link":   {"lib/d/e/f": file("x")},
		"create below a link upwards":    {"up/out/new": file("x")},
		"create below a dangling link":   {"dangling/x": file("x")},
		"modify what a link leads to":    {"lib/secret": file("x")},
		"delete what a link leads to":    {"lib/secret": {}},
		"delete a folder through a link": {"lib/sub": {}, "lib/sub/f": {}},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, t.TempDir()+"/plan", before, before)
			set := &changeset.Set{}
			for p, n := range change {
				c := changeset.Change{Path: p, Op: changeset.Modified, Before: file("outside").entry(), After: n.entry()}
				switch {
				case n.kind == "":
					c.Op, c.After = changeset.Deleted, nil
				case !strings.Contains(p, "secret"):
					c.Op, c.Before = changeset.Created, nil
				}
				set.Changes = append(set.Changes, c)
			}
			f.req.Set, f.req.Src = set, worlds{before, change}
			f.req.Merge = true
			_, err := f.tgt.Prepare(t.Context(), f.req)
			wantFault(t, err, fault.Conflict)
			f.is(before, name)
		})
	}
}

// TestC93_C94_LinksThemselves: what the plan does to a link, it does to the link.
func TestC93_C94_LinksThemselves(t *testing.T) {
	t.Parallel()
	before := world{"conf": link("../out/secret"), "gone": link("../out/secret"), "dangling": link("../out/planted"), "dir": link("../out")}
	after := world{"conf": file("now a file"), "dangling": file("also"), "dir": dir(), "dir/f": file("inside")}
	eachSpot(t, func(t *testing.T, plan string) { roundTrip(t, plan, before, after) })
}

// TestC93_AFileThatBecameALinkIsNotReplaced: the plan edited a file; outside it is
// a link by now.
func TestC93_AFileThatBecameALinkIsNotReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir()+"/plan", world{"conf": file("x")}, world{"conf": file("y")})
	check(t, os.Remove(f.root+"/conf"))
	check(t, os.Symlink("../out/secret", f.root+"/conf"))
	_, err := f.tgt.Prepare(t.Context(), f.req)
	wantFault(t, err, fault.Conflict, "conf")
	f.is(world{"conf": link("../out/secret")}, "after the conflict")
}

func TestC92_HardLinksAreNeverSplit(t *testing.T) {
	t.Parallel()
	before := world{"a": file("one"), "b": file("two"), "c": file("three")}
	eachSpot(t, func(t *testing.T, plan string) {
		f := newFixture(t, plan, before, world{"a": file("ONE"), "b": fileMode("two", 0o755), "c": file("three")})
		check(t, os.Link(f.root+"/a", f.out+"/../a2"))
		check(t, os.Link(f.root+"/b", f.root+"/b2"))
		_, err := f.tgt.Prepare(t.Context(), f.req)
		wantFault(t, err, fault.Conflict, "a", "b")
	})
	// Deleting one name splits nothing, and undoing it brings the very link back.
	f := newFixture(t, t.TempDir()+"/plan", before, world{"b": file("two"), "c": link("b")})
	check(t, os.Link(f.root+"/a", f.root+"/a2"))
	check(t, os.Link(f.root+"/c", f.root+"/c2"))
	state := f.prepare()
	check(t, f.tgt.Commit(t.Context(), state))
	f.is(world{"b": file("two"), "c": link("b"), "a2": file("one"), "c2": file("three")}, "after Commit")
	check(t, f.tgt.Undo(t.Context(), state))
	now := scan(t, f.root)
	if now["a"].ino != now["a2"].ino || now["c"].ino != now["c2"].ino {
		t.Error("the hard links were split")
	}
	// One that appears between Prepare and Commit.
	g := newFixture(t, t.TempDir()+"/plan", before, world{"a": file("ONE"), "b": file("two"), "c": file("three")})
	state = g.prepare()
	check(t, os.Link(g.root+"/a", g.root+"/a2"))
	err := g.tgt.Commit(t.Context(), state)
	wantFault(t, err, fault.IdentityChanged, "a")
	check(t, g.tgt.Undo(t.Context(), state))
	now = scan(t, g.root)
	if now["a"].ino != now["a2"].ino {
		t.Error("the hard link was split")
	}
}

func TestC92_AttributesAndACLsOfAReplacedFileAreKept(t *testing.T) {
	t.Parallel()
	before := world{"f": {kind: changeset.File, mode: 0o644, data: "x", attrs: "note"}, "d": dir()}
	after := world{"f": {kind: changeset.File, mode: 0o755, data: "y", attrs: "note"}, "d": dir(), "d/new": file("n"), "d/sub/g": file("g")}.parents()
	// user::rw-, user:12:rw-, group::r--, mask::rw-, other::r--
	acl := []byte{2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 6, 0, 12, 0, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255, 16, 0, 6, 0, 255, 255, 255, 255, 32, 0, 4, 0, 255, 255, 255, 255}
	eachSpot(t, func(t *testing.T, plan string) {
		f := newFixture(t, plan, before, after)
		if err := unix.Setxattr(f.root+"/f", aclAccess, acl, 0); err != nil {
			t.Skipf("no POSIX ACLs here: %v", err)
		}
		check(t, unix.Setxattr(f.root+"/d", aclDefault, acl, 0))
		check(t, os.Chmod(f.root+"/f", 0o644))
		was := getACL(t, f.root+"/f", aclAccess)
		f.start = scan(t, f.root)
		state := f.prepare()
		check(t, f.tgt.Commit(t.Context(), state))
		check(t, f.tgt.Verify(t.Context(), state))
		f.is(after, "after Commit")
		if now := getACL(t, f.root+"/f", aclAccess); len(now) != len(was) {
			t.Errorf("the ACL was %v and is %v", was, now)
		}
		for _, p := range []string{"/d/new", "/d/sub", "/d/sub/g"} {
			if len(getACL(t, f.root+p, aclAccess)) != len(acl) {
				t.Errorf("%s did not inherit the folder's ACL", p)
			}
		}
		if len(getACL(t, f.root+"/d/sub", aclDefault)) != len(acl) {
			t.Error("the new folder does not hand the ACL down")
		}
		check(t, f.tgt.Undo(t.Context(), state))
		f.restored("after Undo")
		if now := getACL(t, f.root+"/f", aclAccess); string(now) != string(was) {
			t.Errorf("the ACL was %v and is %v after Undo", was, now)
		}
	})
}

func getACL(t *testing.T, path, name string) []byte {
	t.Helper()
	buf := make([]byte, 200)
	n, err := unix.Getxattr(path, name, buf)
	if err != nil {
		return nil
	}
	return buf[:n]
}

func TestV42_PrivilegesAreStripped(t *testing.T) {
	t.Parallel()
	before := world{"f": file("x")}
	after := world{"f": fileMode("y", 0o4755), "g": fileMode("z", 0o2755), "d": dirMode2(0o2755)}
	for _, allow := range []bool{false, true} {
		f := newFixture(t, t.TempDir()+"/plan", before, after)
		f.req.AllowSetuid = allow
		f.req.Set.Changes[1].After.Xattrs = map[string]string{"security.capability": "\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"}
		if allow && os.Geteuid() != 0 {
			f.req.Set.Changes[1].After.Xattrs = nil // only root may give them
		}
		state := f.prepare()
		check(t, f.tgt.Commit(t.Context(), state))
		check(t, f.tgt.Verify(t.Context(), state))
		want := after
		if !allow {
			want = stripped(after)
		}
		f.is(want, fmt.Sprintf("allowed %v", allow))
		buf := make([]byte, 64)
		_, err := unix.Getxattr(f.root+"/f", capability, buf)
		if _, err2 := unix.Getxattr(f.root+"/g", capability, buf); (err == nil || err2 == nil) && !allow {
			t.Error("file capabilities were carried")
		}
	}
}

// TestAttackOnNames: somebody exchanges targets for other objects and folders for
// links all the while. Nothing outside changes, nothing of theirs is lost, and
// what was there before an undone apply is there again.
func TestAttackOnNames(t *testing.T) {
	t.Parallel()
	rounds := 150
	if testing.Short() {
		rounds = 20
	}
	attacks := map[string]func(root string){
		"a file of their own":   func(root string) { exchange(root+"/f", root+"/theirs") },
		"a link to outside":     func(root string) { exchange(root+"/f", root+"/tolink") },
		"a folder":              func(root string) { exchange(root+"/f", root+"/tofolder") },
		"the folder and a link": func(root string) { exchange(root+"/d", root+"/outlink") },
		"two folders":           func(root string) { exchange(root+"/d", root+"/other") },
		"replace it over and over": func(root string) {
			_ = os.WriteFile(root+"/tmp", []byte("newest"), 0o600)
			_ = os.Rename(root+"/tmp", root+"/f")
		},
		"remove it and make it": func(root string) {
			_ = os.Rename(root+"/f", root+"/away")
			_ = os.Rename(root+"/away", root+"/f")
		},
	}
	before := world{
		"f": file("before"), "theirs": file("theirs"), "tolink": link("../out/secret"), "tofolder": dir(), "d/x": file("before"), "d/gone": file("gone"),
		"other/x": file("other"), "outlink": link("../out"),
	}.parents()
	after := before.with(world{"f": file("after"), "d/x": file("after"), "d/gone": {}, "d/new": file("new"), "fresh": file("fresh")})
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := inMemory(t)
			f := fixtureIn(t, base, base+"/plan", before, after)
			done, refused := 0, 0
			for i := range rounds {
				f.req.Dir = fmt.Sprintf("%s/plan/%d", base, i)
				check(t, os.MkdirAll(f.req.Dir, 0o700))
				if f.attacked(attack, before) {
					done++
				} else {
					refused++
				}
				if len(scan(t, f.out)) != 3 {
					t.Fatalf("round %d: something was made outside", i)
				}
			}
			t.Logf("%d done, %d refused", done, refused)
			if done+refused == 0 {
				t.Error("no round was run")
			}
		})
	}
}

func exchange(a, b string) {
	_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// attacked runs one apply and undo under attack, and makes the target anew.
func (f *fixture) attacked(attack func(root string), before world) (done bool) {
	f.t.Helper()
	ctx := f.t.Context()
	state, err := f.tgt.Prepare(ctx, f.req)
	if err != nil {
		f.t.Fatal(err)
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				attack(f.root)
			}
		}
	})
	err = f.tgt.Commit(ctx, state)
	done = err == nil
	if err != nil && !fault.Is(err, fault.IdentityChanged) && !fault.Is(err, fault.Conflict) {
		f.t.Errorf("Commit: %v", err)
	}
	uerr := f.tgt.Undo(ctx, state)
	close(quit)
	wg.Wait()
	if uerr != nil && !fault.Is(uerr, fault.Conflict) {
		f.t.Errorf("Undo: %v", uerr)
	}
	if uerr != nil { // once more, undisturbed
		uerr = f.tgt.Undo(ctx, state)
	}
	f.nothingLost(before, fmt.Sprintf("Commit: %v; Undo: %v", err, uerr))
	unlock(f.root)
	check(f.t, os.RemoveAll(f.root))
	before.build(f.t, f.root)
	return done
}

// nothingLost looks for every content there was before, in the target and in the
// plan's folder.
func (f *fixture) nothingLost(before world, when string) {
	f.t.Helper()
	have := map[string]bool{}
	for _, dir := range []string{f.root, f.req.Dir} {
		for _, s := range scan(f.t, dir) {
			have[string(s.kind)+s.data] = true
		}
	}
	for p, n := range before {
		destroyed := p == "f" && have["filenewest"] // by the attacker's own rename
		if n.kind != changeset.Dir && !have[string(n.kind)+n.data] && !destroyed {
			f.t.Errorf("%s: what %q was is lost", when, p)
		}
	}
	for p := range scan(f.t, f.root) {
		if strings.Contains(p, ".ambit-") {
			f.t.Errorf("%s: %s was left", when, p)
		}
	}
}

// TestOvertaken plays the case of page "closing the race" by hand: a foreign
// object is displaced, and before it can be given back somebody replaces ours.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	for _, far := range []bool{false, true} {
		base, plan := inMemory(t), t.TempDir()+"/plan"
		if !far {
			plan = base + "/plan"
		}
		f := fixtureIn(t, base, plan, world{"f": file("before")}, world{"f": file("after")})
		state := f.prepare()
		exchanges := 0
		f.tgt = New(Options{Intercept: func(op, path string) error {
			if op != "exchange" {
				return nil
			}
			if exchanges++; exchanges <= 2 { // before ours, and before the reversal
				name := f.root + "/foreign"
				check(t, os.WriteFile(name, []byte(fmt.Sprintf("foreign %d", exchanges)), 0o600))
				check(t, os.Rename(name, f.root+"/f"))
			}
			return nil
		}})
		err := f.tgt.Commit(t.Context(), state)
		wantFault(t, err, fault.IdentityChanged, "f")
		if !strings.Contains(err.Error(), rescueName) {
			t.Errorf("the error does not name the rescued object: %v", err)
		}
		now := scan(t, f.root)
		if now["f"].data != "foreign 2" {
			t.Errorf("the newest object is not in its place: %s", now["f"].node)
		}
		if exchanges != 3 {
			t.Errorf("%d exchanges", exchanges)
		}
		found := false
		for _, dir := range []string{f.root, f.plan} {
			for p, s := range scan(t, dir) {
				found = found || s.data == "foreign 1" && strings.Contains(p, rescueName)
			}
		}
		if !found {
			t.Error("the displaced foreign object was lost")
		}
		f.tgt = New(Options{})
		if err := f.tgt.Undo(t.Context(), state); err != nil && !fault.Is(err, fault.Conflict) {
			t.Error(err)
		}
		if now := scan(t, f.root); now["f"].data != "foreign 2" {
			t.Errorf("Undo touched what is foreign: %s", now["f"].node)
		}
		found = false
		for _, dir := range []string{f.root, f.plan} {
			for _, s := range scan(t, dir) {
				found = found || s.data == "foreign 1"
			}
		}
		if !found {
			t.Error("Undo removed the rescued object")
		}
	}
}
