package overlay_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/sandbox/conformance"
)

// layers counts the frozen layers of the present state, from the state file.
func (b *box) layers() int {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.req.Dir, "sandbox.json"))
	b.must(err)
	var st struct{ Layers []string }
	b.must(json.Unmarshal(raw, &st))
	return len(st.Layers)
}

// Many checkpoints: layers are squashed, and every state is still exactly what
// it was when it was named.
func TestSquash(t *testing.T) {
	t.Parallel()
	for _, lower := range []engine.Lower{engine.LowerLive, engine.LowerFrozen} {
		t.Run(string(lower), func(t *testing.T) {
			t.Parallel()
			r := history(t)
			r.Write("gone/a", "a\n", "gone/b", "b\n", "stay/a", "a\n", "stay/b", "b\n", "file", "f\n").Commit("more")
			b := checkout(t, r, lower).create()
			snap := func() conformance.Tree {
				en, err := b.sb.Enter(t.Context())
				b.must(err)
				tree, err := conformance.Snapshot(en, false)
				b.must(err)
				return tree
			}
			states := map[string]conformance.Tree{}
			peak := 0
			for i := range 37 {
				script := fmt.Sprintf("echo %d > n%d; echo %d >> f; rm -f n%d; ", i, i%5, i, (i+2)%5)
				switch i % 6 {
				case 0:
					script += "rm -rf gone; "
				case 1:
					script += "mkdir gone; echo new > gone/b; rm -rf pure; mkdir -p pure/in; echo p > pure/in/f; echo q > pure/g; "
				case 2:
					script += "rm pure/in/f; chmod 700 stay; mkfifo -m 600 pipe 2>/dev/null || true; "
				case 3:
					script += "rm -r stay; echo 'a file' > stay; ln -s x link; ln f hard; "
				case 4:
					script += "rm stay link hard; mkdir stay; echo s > stay/c; "
				case 5:
					script += "rm file; mkdir file; echo i > file/i; mv file moved; echo back > file; rm -r moved; git commit -qam step; "
				}
				b.inside(script)
				name := fmt.Sprintf("s%d", i)
				states[name] = snap()
				b.must(b.sb.Checkpoint(t.Context(), name))
				peak = max(peak, b.layers())
				if i%9 == 0 {
					b.attach()
				}
			}
			if peak > 30 || b.layers() > 10 {
				t.Errorf("%d layers at most, %d now: not squashed", peak, b.layers())
			}
			for _, name := range []string{"s36", "s0", "s31", "s30", "s29", "s28", "s5", "s36", "s17"} {
				b.must(b.sb.Restore(t.Context(), name))
				got := snap()
				for p, e := range states[name] {
					if g, ok := got[p]; !ok || !e.Same(&g) {
						t.Errorf("%s: %q is %+v, was %+v", name, p, g, e)
					}
				}
				for p := range got {
					if _, ok := states[name][p]; !ok {
						t.Errorf("%s: %q was not there", name, p)
					}
				}
			}
			b.must(b.sb.Restore(t.Context(), "s36"))
			if got := b.inside("git status --porcelain | grep -v '^??' || true; git fsck --no-dangling; git log --format=%s | wc -l"); got == "" {
				t.Error("git inside says nothing")
			}
			if err := b.sb.Destroy(t.Context(), false); !fault.Is(err, fault.Conflict) {
				t.Errorf("destroy with commits in squashed layers: %v", err)
			}
		})
	}
}

// What a crash leaves between two states is taken away by the next change.
func TestLeftoversAreSwept(t *testing.T) {
	t.Parallel()
	b := plain(t, "f", "f\n").create()
	stray := filepath.Join(b.req.Dir, "layers/0099/upper/x")
	b.must(os.MkdirAll(stray, 0o700))
	b.must(os.MkdirAll(filepath.Join(b.req.Dir, "layers/.0002/upper"), 0o700))
	b.inside("echo s > f")
	b.must(b.sb.Checkpoint(t.Context(), "one"))
	entries, err := os.ReadDir(filepath.Join(b.req.Dir, "layers"))
	b.must(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "0001 0002" {
		t.Errorf("layers: %s", got)
	}
	if _, err := os.Stat(filepath.Join(b.req.Dir, "layers/0001/work")); !os.IsNotExist(err) {
		t.Errorf("a frozen layer keeps its work folder: %v", err)
	}
}

// The root of the resource has attributes of its own, which go along with
// checkpoints as everything else does.
func TestRootAttributes(t *testing.T) {
	t.Parallel()
	b := plain(t, "f", "f\n")
	b.must(os.Chmod(b.dir, 0o751))
	b.create()
	mode := func() string { return strings.TrimSpace(b.inside("stat -c %a .")) }
	if got := mode(); got != "751" {
		t.Errorf("mode of the root inside: %s", got)
	}
	b.inside("chmod 700 .")
	b.must(b.sb.Checkpoint(t.Context(), "one"))
	if got := mode(); got != "700" {
		t.Errorf("after a checkpoint: %s", got)
	}
	b.must(b.sb.Rollback(t.Context()))
	if got := mode(); got != "751" {
		t.Errorf("after the rollback: %s", got)
	}
	b.must(b.sb.Restore(t.Context(), "one"))
	if got := mode(); got != "700" {
		t.Errorf("after restoring: %s", got)
	}
}

// C64: hard links. A pair made inside stays a pair; one of the real tree parts
// at the first write, and that is said.
func TestC64_HardLinks(t *testing.T) {
	t.Parallel()
	b := plain(t, "a", "a\n")
	b.must(os.Link(filepath.Join(b.dir, "a"), filepath.Join(b.dir, "b")))
	b.create()
	if got := b.inside("echo n > n; ln n m; stat -c %h n m; echo s >> a; cat b"); got != "2\n2\na\n" {
		t.Errorf("inside: %q", got)
	}
	set, _ := b.changes(engine.ChangeOptions{})
	b.wantSummary(set, "modified a", "created m", "created n")
	if len(set.Notices) != 1 || !strings.Contains(set.Notices[0], "hard links") {
		t.Errorf("notices: %q", set.Notices)
	}
}

// What may not be read is listed, not left out in silence.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	b := plain(t, "f", "f\n", "d/x", "x\n").create()
	b.inside("chmod 0 f; echo n > n; mkdir z; echo i > z/i; chmod 0 z")
	set, _ := b.changes(engine.ChangeOptions{})
	b.wantSummary(set, "created n", "created z")
	if got := fmt.Sprint(set.Skipped); !strings.Contains(got, "f unreadable") || !strings.Contains(got, "z unreadable") {
		t.Errorf("skipped: %s", got)
	}
	b.must(b.sb.Checkpoint(t.Context(), "one"))
	b.must(b.sb.Rollback(t.Context()))
	b.must(b.sb.Destroy(t.Context(), false))
}

func TestNestedRepositoryIsSkipped(t *testing.T) {
	t.Parallel()
	b := checkout(t, history(t), engine.LowerLive).create()
	b.inside("git init -q nested; echo n > nested/f; git config x.y z; mkdir d/.GIT; echo x > d/.GIT/x")
	set, _ := b.changes(engine.ChangeOptions{})
	b.wantSummary(set, "created nested", "created nested/f")
	if len(set.Skipped) != 2 || set.Skipped[0].Path != "d/.GIT" || set.Skipped[1].Path != "nested/.git" {
		t.Errorf("skipped: %v", set.Skipped)
	}
	p := plain(t, "f", "f\n").create()
	p.inside("git init -q . ; git init -q sub")
	set, _ = p.changes(engine.ChangeOptions{})
	if got := summary(set); !strings.Contains(got, "created .git/HEAD") || !strings.Contains(got, "created sub/.git/HEAD") {
		t.Errorf("in a plain directory .git is a directory like another:\n%s", got)
	}
}
