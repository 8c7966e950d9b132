package conformance

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/engine"
)

// paths that random operations work on: few, so that they meet.
var randomPaths = []string{
	"plain.txt", "dir", "dir/inner", "dir/deep", "dir/deep/a", "dir/new", "gone", "gone/one", "gone/sub", "gone/sub/three",
	"kind-dir", "kind-dir/f", "kind-file", "empty", "empty/x", "link", "n", "n/m", "n/m/k", ".wh.n", "hard1", "hard2", "bad-\xff\xfe-utf8",
}

func drawOp(t *rapid.T) Op {
	path := rapid.SampledFrom(randomPaths).Draw(t, "path")
	op := Op{
		Do: rapid.SampledFrom([]string{
			"write", "write", "append", "truncate", "remove", "remove", "removeall", "mkdir", "mkdir", "rename", "chmod", "symlink", "link",
		}).Draw(t, "do"),
		Path: path,
	}
	switch op.Do {
	case "write", "append":
		op.Data = rapid.SampledFrom([]string{"", "a", "plain\n", "inner\n", "\x00binary"}).Draw(t, "data")
	case "rename", "link":
		op.To = rapid.SampledFrom(randomPaths).Draw(t, "to")
	case "symlink":
		op.To = rapid.SampledFrom([]string{"plain.txt", "/", "..", "n/m"}).Draw(t, "text")
	case "chmod":
		op.Mode = rapid.SampledFrom([]uint32{0o644, 0o755, 0o600, 0o700}).Draw(t, "mode")
	}
	return op
}

// random: after any sequence of operations, checkpoints and restores, the
// account of changes is the difference that the kernel shows, and every named
// state is what it was when it was named.
func random(e *env, confined bool) {
	ctx := e.t.Context()
	was := e.real()
	_, sb := e.create(confined)
	n := 0
	rapid.Check(e.t, func(t *rapid.T) {
		e.must(sb.Rollback(ctx))
		states := map[string]Tree{engine.CheckpointCreation: e.snapshot(sb)}
		names := []string{engine.CheckpointCreation}
		for range rapid.IntRange(1, 3).Draw(t, "stretches") {
			ops := rapid.SliceOfN(rapid.Custom(drawOp), 1, 12).Draw(t, "ops")
			e.apply(sb, ops)
			n++
			name := fmt.Sprintf("s%d", n)
			states[name] = e.snapshot(sb)
			names = append(names, name)
			if err := sb.Checkpoint(ctx, name); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "go back") {
				to := rapid.SampledFrom(names).Draw(t, "to")
				if err := sb.Restore(ctx, to); err != nil {
					t.Fatal(err)
				}
				if d := diffTrees(states[to], e.snapshot(sb)); len(d) != 0 {
					t.Fatalf("restored %s: %s %q", to, d[0].Op, d[0].Path)
				}
			}
		}
		from := rapid.SampledFrom(names).Draw(t, "from")
		set, _, err := sb.Changes(ctx, from, engine.CheckpointNow, engine.ChangeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := diffTrees(states[from], e.snapshot(sb))
		got := expand(set)
		for i := range max(len(want), len(got)) {
			if i >= len(want) || i >= len(got) || want[i].Path != got[i].Path || want[i].Op != got[i].Op ||
				!want[i].Before.Same(got[i].Before) || !want[i].After.Same(got[i].After) {
				t.Fatalf("changes from %s differ at %d:\nreported %v\nis       %v", from, i, got, want)
			}
		}
	})
	e.must(sb.Destroy(ctx, true))
	e.unchangedAtEnd(was)
}
