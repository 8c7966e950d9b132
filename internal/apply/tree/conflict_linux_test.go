package tree

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// meddling is what somebody does to the target meanwhile.
type meddling struct {
	name string
	path string // what must be named
	do   func(t *testing.T, root string)
	// after is whether it also is a conflict when done after Commit.
	lost bool // by doing it the meddler destroyed our object: nothing to compare
}

func meddlings() []meddling {
	write := func(rel, data string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			t.Helper()
			p := filepath.Join(root, rel)
			check(t, os.MkdirAll(filepath.Dir(p), 0o755))
			_ = os.Remove(p)
			check(t, os.WriteFile(p, []byte(data), 0o644))
		}
	}
	return []meddling{
		{name: "a modified file was edited", path: "a.txt", do: func(t *testing.T, root string) {
			check(t, os.WriteFile(root+"/a.txt", []byte("edited outside\n"), 0o644))
		}},
		{name: "a modified file was edited, size and time kept", path: "a.txt", do: func(t *testing.T, root string) {
			fi, err := os.Stat(root + "/a.txt")
			check(t, err)
			old, err := os.ReadFile(root + "/a.txt")
			check(t, err)
			check(t, os.WriteFile(root+"/a.txt", []byte(strings.Repeat("z", len(old))), 0o644))
			check(t, os.Chtimes(root+"/a.txt", fi.ModTime(), fi.ModTime()))
		}},
		{name: "a modified file was replaced", path: "a.txt", do: write("a.txt", "replaced outside\n")},
		{name: "a modified file was deleted", path: "a.txt", do: func(t *testing.T, root string) { check(t, os.Remove(root+"/a.txt")) }, lost: true},
		{name: "a modified file got another mode", path: "a.txt", do: func(t *testing.T, root string) { check(t, os.Chmod(root+"/a.txt", 0o600)) }},
		{name: "a modified file became a link", path: "a.txt", do: func(t *testing.T, root string) {
			check(t, os.Remove(root+"/a.txt"))
			check(t, os.Symlink("../out/secret", root+"/a.txt"))
		}},
		{name: "a modified file became a folder", path: "a.txt", do: func(t *testing.T, root string) {
			check(t, os.Remove(root+"/a.txt"))
			check(t, os.Mkdir(root+"/a.txt", 0o755))
		}},
		{name: "a modified file became a fifo", path: "a.txt", do: func(t *testing.T, root string) {
			check(t, os.Remove(root+"/a.txt"))
			check(t, unix.Mkfifo(root+"/a.txt", 0o644))
		}},
		{name: "a retargeted link was retargeted", path: "link", do: func(t *testing.T, root string) {
			check(t, os.Remove(root+"/link"))
			check(t, os.Symlink("elsewhere", root+"/link"))
		}},
		{name: "a folder whose mode changes got another", path: "private", do: func(t *testing.T, root string) { check(t, os.Chmod(root+"/private", 0o750)) }},
	}
}

// beforeOnly are conflicts of the way there: the paths are not there afterwards.
func beforeOnly() []meddling {
	return []meddling{
		{name: "a deleted file was edited", path: "docs/one.md", do: func(t *testing.T, root string) {
			check(t, os.WriteFile(root+"/docs/one.md", []byte("edited outside\n"), 0o644))
		}},
		{name: "a deleted folder got a file", path: "docs", do: func(t *testing.T, root string) {
			check(t, os.WriteFile(root+"/docs/foreign", []byte("foreign\n"), 0o644))
		}},
		{name: "a deleted folder got a hidden folder", path: "docs", do: func(t *testing.T, root string) {
			check(t, os.MkdirAll(root+"/docs/.cache/x", 0o755))
		}},
		{name: "a created name was taken by a file", path: "n", do: func(t *testing.T, root string) {
			check(t, os.WriteFile(root+"/n", []byte("taken\n"), 0o644))
		}},
		{name: "a created name was taken by a link", path: "n", do: func(t *testing.T, root string) {
			check(t, os.Symlink("../out", root+"/n"))
		}},
		{name: "a folder on the way became a link", path: "private/new", do: func(t *testing.T, root string) {
			check(t, os.Rename(root+"/private", root+"/moved"))
			check(t, os.Symlink("../out", root+"/private"))
		}},
		{name: "a folder on the way vanished", path: "private/new", do: func(t *testing.T, root string) {
			check(t, os.Rename(root+"/private", root+"/moved"))
		}},
	}
}

var conflictAfter = rich.with(world{
	"a.txt": file("ALPHA\n"), "link": link("docs/two.md"), "docs": {}, "docs/one.md": {}, "docs/two.md": {},
	"private": dirMode2(0o711), "private/new": file("x"), "n/m/f": file("f\n"), "kinds/from": {},
})

// TestC126_ConflictsAreFoundBeforeAnythingHappens: done before Prepare.
func TestC126_ConflictsAreFoundBeforeAnythingHappens(t *testing.T) {
	t.Parallel()
	for _, m := range append(meddlings(), beforeOnly()...) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, t.TempDir()+"/plan", rich, conflictAfter)
			m.do(t, f.root)
			f.start = scan(t, f.root)
			_, err := f.tgt.Prepare(t.Context(), f.req)
			wantFault(t, err, fault.Conflict)
			if e := fault.As(err); !slices.Contains(e.Paths, m.path) {
				t.Errorf("the error names %q, not %q: %v", e.Paths, m.path, err)
			}
			f.restored("after a conflict")
			if left, _ := os.ReadDir(f.plan); len(left) > 0 {
				t.Errorf("left in the plan's folder: %v", left)
			}
		})
	}
}

func TestAllConflictsAreListedAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir()+"/plan", rich, conflictAfter)
	check(t, os.WriteFile(f.root+"/a.txt", []byte("edited"), 0o644))
	check(t, os.WriteFile(f.root+"/docs/one.md", []byte("edited"), 0o644))
	check(t, os.WriteFile(f.root+"/docs/foreign", nil, 0o644))
	check(t, os.WriteFile(f.root+"/n", nil, 0o644))
	_, err := f.tgt.Prepare(t.Context(), f.req)
	wantFault(t, err, fault.Conflict, "a.txt", "docs", "docs/one.md", "n", "n/m", "n/m/f")
}

// TestMeddlingBetweenPrepareAndCommit: Commit refuses, Undo leaves what the
// meddler made and brings everything else back.
func TestMeddlingBetweenPrepareAndCommit(t *testing.T) {
	t.Parallel()
	for _, m := range append(meddlings(), beforeOnly()...) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			eachSpot(t, func(t *testing.T, plan string) {
				f := newFixture(t, plan, rich, conflictAfter)
				state := f.prepare()
				m.do(t, f.root)
				f.start = withoutStage(scan(t, f.root))
				wantFault(t, f.tgt.Commit(t.Context(), state), fault.IdentityChanged)
				check(t, f.tgt.Undo(t.Context(), state))
				check(t, f.tgt.Undo(t.Context(), state))
				f.restored("after the refused Commit and Undo")
				f.noTraces("after the refused Commit and Undo")
			})
		})
	}
}

func withoutStage(is map[string]seen) map[string]seen {
	for p := range is {
		if strings.HasPrefix(p, ".ambit-") {
			delete(is, p)
		}
	}
	return is
}

// TestMeddlingAfterCommit: CheckUndo names the path and changes nothing; Undo
// leaves that path alone, keeps what was there before, and restores the rest.
func TestMeddlingAfterCommit(t *testing.T) {
	t.Parallel()
	more := []meddling{
		{name: "a created file was edited", path: "n/m/f", do: func(t *testing.T, root string) {
			check(t, os.WriteFile(root+"/n/m/f", []byte("edited outside\n"), 0o644))
		}},
		{name: "a created folder got a file", path: "n/m", do: func(t *testing.T, root string) {
			check(t, os.WriteFile(root+"/n/m/foreign", []byte("foreign\n"), 0o644))
		}},
		{name: "a deleted file was made anew", path: "docs", do: func(t *testing.T, root string) {
			check(t, os.WriteFile(root+"/docs", []byte("foreign\n"), 0o644))
		}},
	}
	for _, m := range append(meddlings(), more...) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			eachSpot(t, func(t *testing.T, plan string) {
				f := newFixture(t, plan, rich, conflictAfter)
				state := f.prepare()
				check(t, f.tgt.Commit(t.Context(), state))
				m.do(t, f.root)
				applied := scan(t, f.root)
				err := f.tgt.CheckUndo(t.Context(), state)
				wantFault(t, err, fault.Conflict)
				if e := fault.As(err); !slices.Contains(e.Paths, m.path) {
					t.Errorf("CheckUndo names %q, not %q", e.Paths, m.path)
				}
				if now := scan(t, f.root); !equalScans(applied, now) {
					t.Fatal("CheckUndo changed the target")
				}
				for range 2 { // it can be repeated, and says the same
					err = f.tgt.Undo(t.Context(), state)
					wantFault(t, err, fault.Conflict)
					if e := fault.As(err); !slices.Contains(e.Paths, m.path) {
						t.Errorf("Undo names %q, not %q", e.Paths, m.path)
					}
					f.noTraces("after Undo")
				}
				now := scan(t, f.root)
				if now[m.path].node != applied[m.path].node {
					t.Errorf("%q was %s and is %s", m.path, applied[m.path].node, now[m.path].node)
				}
				for p, s := range applied { // nothing foreign is lost
					if strings.HasSuffix(p, "foreign") && now[p].node != s.node {
						t.Errorf("%q was lost", p)
					}
				}
				for p, s := range f.start {
					if !strings.HasPrefix(p, m.path) && !strings.HasPrefix(m.path, p+"/") && now[p].node != s.node && p != "docs/one.md" && p != "docs/two.md" {
						t.Errorf("%q was not restored: %s, was %s", p, now[p].node, s.node)
					}
				}
				f.keeps(m.path)
			})
		})
	}
}

// keeps fails the test unless the plan's folder still holds what the path was.
func (f *fixture) keeps(path string) {
	f.t.Helper()
	was, ok := f.start[path]
	if !ok || was.kind != changeset.File {
		return
	}
	for p, s := range scan(f.t, f.plan) {
		if s.kind == changeset.File && s.data == was.data && !strings.HasSuffix(p, recordName) {
			return
		}
	}
	f.t.Errorf("what %q was before is kept nowhere", path)
}

func equalScans(a, b map[string]seen) bool {
	if len(a) != len(b) {
		return false
	}
	for p, s := range a {
		if o := b[p]; o.node != s.node || o.ino != s.ino || !o.mtime.Equal(s.mtime) {
			return false
		}
	}
	return true
}

// TestUndoAfterTheConflictIsSettled: what was left alone can be undone later.
func TestUndoAfterTheConflictIsSettled(t *testing.T) {
	t.Parallel()
	eachSpot(t, func(t *testing.T, plan string) {
		f := newFixture(t, plan, rich, conflictAfter)
		state := f.prepare()
		check(t, f.tgt.Commit(t.Context(), state))
		check(t, os.WriteFile(f.root+"/a.txt", []byte("edited outside\n"), 0o644))
		check(t, os.WriteFile(f.root+"/n/m/foreign", nil, 0o644))
		wantFault(t, f.tgt.Undo(t.Context(), state), fault.Conflict)
		check(t, os.WriteFile(f.root+"/a.txt", []byte("ALPHA\n"), 0o644))
		check(t, os.Remove(f.root+"/n/m/foreign"))
		check(t, f.tgt.Undo(t.Context(), state))
		f.restored("after the second Undo")
		f.noTraces("after the second Undo")
	})
}

func TestWhatIsAlreadyAsMeantIsNoConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir()+"/plan", rich, conflictAfter)
	check(t, os.WriteFile(f.root+"/a.txt", []byte("ALPHA\n"), 0o644))
	check(t, os.RemoveAll(f.root+"/docs"))
	check(t, os.MkdirAll(f.root+"/n/m", 0o755))
	f.start = scan(t, f.root)
	state := f.prepare()
	check(t, f.tgt.Commit(t.Context(), state))
	check(t, f.tgt.Verify(t.Context(), state))
	f.is(conflictAfter, "after Commit")
	check(t, f.tgt.Undo(t.Context(), state))
	f.restored("after Undo")
}

// TestTouchedOrRewrittenAlikeIsNoChange: same contents, another inode or time.
func TestTouchedOrRewrittenAlikeIsNoChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir()+"/plan", rich, conflictAfter)
	state := f.prepare()
	later := time.Now().Add(time.Hour)
	check(t, os.Chtimes(f.root+"/a.txt", later, later))
	check(t, os.Remove(f.root+"/docs/one.md"))
	check(t, os.WriteFile(f.root+"/docs/one.md", []byte("one\n"), 0o644))
	check(t, os.Chmod(f.root+"/docs/one.md", 0o644))
	f.start = scan(t, f.root)
	check(t, f.tgt.Commit(t.Context(), state))
	f.is(conflictAfter, "after Commit")
	check(t, os.Chtimes(f.root+"/a.txt", later, later))
	check(t, f.tgt.CheckUndo(t.Context(), state))
	check(t, f.tgt.Undo(t.Context(), state))
	f.restored("after Undo")
}

func TestDriftIsAlwaysAConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir()+"/plan", rich, conflictAfter)
	f.req.Merge = true
	f.req.Set.Drift = []string{"a.txt", "n/m/f", "unrelated"}
	_, err := f.tgt.Prepare(t.Context(), f.req)
	wantFault(t, err, fault.Conflict, "a.txt", "n/m/f")
}

func TestO72_TheSamePathTwiceIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir()+"/plan", rich, conflictAfter)
	f.req.Set.Changes = append(f.req.Set.Changes, f.req.Set.Changes[0])
	_, err := f.tgt.Prepare(t.Context(), f.req)
	wantFault(t, err, fault.Invalid, f.req.Set.Changes[0].Path)
	f.restored("after the refusal")
}

// TestSandboxThatChangedSinceReview: staged bytes are those that were reviewed.
func TestSandboxThatChangedSinceReview(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir()+"/plan", rich, conflictAfter)
	f.req.Src = worlds{rich, conflictAfter.with(world{"a.txt": file("MALICE\n")})}
	_, err := f.tgt.Prepare(t.Context(), f.req)
	wantFault(t, err, fault.Stale, "a.txt")
	f.restored("after the refusal")
	f.req.Src = broken{}
	if _, err = f.tgt.Prepare(t.Context(), f.req); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
	f.restored("after the broken source")
}

func TestReadOnlyResourceIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir()+"/plan", rich, conflictAfter)
	f.req.Resource.ReadOnly = true
	_, err := f.tgt.Prepare(t.Context(), f.req)
	wantFault(t, err, fault.Denied)
	f.req.Resource = engine.Resource{Path: f.root + "/nowhere"}
	_, err = f.tgt.Prepare(t.Context(), f.req)
	wantFault(t, err, fault.NotFound)
}

func TestAnotherDirectoryAtTheSamePathIsNotTouched(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir()+"/plan", rich, conflictAfter)
	state := f.prepare()
	check(t, os.Rename(f.root, f.root+".away"))
	rich.build(t, f.root)
	wantFault(t, f.tgt.Commit(t.Context(), state), fault.IdentityChanged)
	f.is(rich, "after Commit on another directory")
	check(t, os.Rename(f.root, f.root+".other"))
	check(t, os.Rename(f.root+".away", f.root))
	check(t, f.tgt.Commit(t.Context(), state))
	f.is(conflictAfter, "after Commit on the right one")
}

func TestRecordThatWasTamperedWithIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir()+"/plan", rich, conflictAfter)
	state := f.prepare()
	raw, err := os.ReadFile(f.plan + "/" + recordName)
	check(t, err)
	check(t, os.WriteFile(f.plan+"/"+recordName, []byte(strings.Replace(string(raw), "a.txt", "b.txt", 1)), 0o600))
	wantFault(t, f.tgt.Commit(t.Context(), state), fault.Internal)
	f.is(rich, "after the refusal")
}

var errBroken = errors.New("broken sandbox")

type broken struct{}

func (broken) Open(changeset.Side, string) (io.ReadCloser, error) { return nil, errBroken }
