package tree

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// TestCutOffBetweenDisplacingAndLooking: a foreign object comes under our rename,
// and the process dies before it can look at what it displaced. Whatever runs
// next finds the foreign object in a slot and gives it back.
func TestCutOffBetweenDisplacingAndLooking(t *testing.T) {
	t.Parallel()
	before := world{"f": file("before"), "theirs": file("theirs")}
	cases := []struct {
		name  string
		after world
		undo  bool   // the cut-off is in Undo
		call  string // the call that is raced
		next  string // "commit" or "undo"
		taken bool   // and then somebody makes a third object of that name
		code  fault.Code
		want  string // contents of f in the end
	}{
		{"swap, then commit", world{"f": file("after")}, false, "exchange", "commit", false, fault.IdentityChanged, "theirs"},
		{"swap, then undo", world{"f": file("after")}, false, "exchange", "undo", false, "", "theirs"},
		{"swap, name taken, then commit", world{"f": file("after")}, false, "exchange", "commit", true, fault.IdentityChanged, "third"},
		{"swap, name taken, then undo", world{"f": file("after")}, false, "exchange", "undo", true, fault.Conflict, "third"},
		{"delete, then commit", world{"f": {}}, false, "rename", "commit", false, fault.IdentityChanged, "theirs"},
		{"delete, then undo", world{"f": {}}, false, "rename", "undo", false, "", "theirs"},
		{"delete, name taken, then commit", world{"f": {}}, false, "rename", "commit", true, fault.IdentityChanged, "third"},
		{"delete, name taken, then undo", world{"f": {}}, false, "rename", "undo", true, fault.Conflict, "third"},
		{"undo of a swap", world{"f": file("after")}, true, "exchange", "undo", false, fault.Conflict, "theirs"},
		{"undo of a swap, name taken", world{"f": file("after")}, true, "exchange", "undo", true, fault.Conflict, "third"},
		{"undo of a creation", world{"f": {}, "new": file("new")}, true, "rename", "undo", false, fault.Conflict, "before"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			eachSpotInMemory(t, func(t *testing.T, in, plan string) {
				after, name := before.with(c.after), "f"
				start := before
				if _, ok := c.after["new"]; ok {
					name = "new"
					after = before.with(world{"new": file("new")})
				}
				f := fixtureIn(t, in, plan, start, after)
				state := f.prepare()
				if c.undo {
					check(t, f.tgt.Commit(t.Context(), state))
				}
				dead := false
				cut := New(Options{Intercept: func(op, path string) error {
					if dead {
						return fmt.Errorf("dead: %w", unix.EIO)
					}
					ours := strings.Contains(path, f.root+"/"+name) || strings.Contains(path, "/0000")
					if op == c.call && ours && !strings.Contains(path, ".part") {
						exchange(f.root+"/"+name, f.root+"/theirs")
						dead = true
					}
					return nil
				}})
				var err error
				if c.undo {
					err = cut.Undo(t.Context(), state)
				} else {
					err = cut.Commit(t.Context(), state)
				}
				if err == nil || !dead {
					t.Fatalf("not cut off: %v", err)
				}
				if c.taken {
					check(t, os.WriteFile(f.root+"/third", []byte("third"), 0o644))
					check(t, os.Rename(f.root+"/third", f.root+"/"+name))
				}
				if c.next == "commit" {
					err = f.tgt.Commit(t.Context(), state)
				} else {
					err = f.tgt.Undo(t.Context(), state)
				}
				if c.code == "" {
					check(t, err)
				} else {
					wantFault(t, err, c.code)
				}
				if uerr := f.tgt.Undo(t.Context(), state); uerr != nil && !fault.Is(uerr, fault.Conflict) {
					t.Error(uerr)
				}
				if got := scan(t, f.root)[name].data; name == "f" && got != c.want {
					t.Errorf("f holds %q, want %q", got, c.want)
				}
				if name == "new" && scan(t, f.root)["new"].data != "theirs" {
					t.Error("what replaced the new file was lost")
				}
				have := map[string]bool{}
				for _, d := range []string{f.root, f.plan} {
					for _, s := range scan(t, d) {
						have[s.data] = true
					}
				}
				for _, data := range []string{"before", "theirs"} {
					overwritten := data == "before" && c.undo && c.taken // by the third object
					if !have[data] && !overwritten {
						t.Errorf("%q is lost", data)
					}
				}
			})
		})
	}
}
