package overlay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
	"github.com/ambit-run/ambit/internal/sandbox/overlay"
)

func (b *box) state() overlay.GitState {
	b.t.Helper()
	sb, ok := b.sb.(*overlay.Sandbox)
	if !ok {
		b.t.Fatalf("%T is no overlay sandbox", b.sb)
	}
	g, err := sb.GitState(b.t.Context())
	b.must(err)
	return g
}

func TestGitState(t *testing.T) {
	t.Parallel()
	for _, lower := range []engine.Lower{engine.LowerLive, engine.LowerFrozen} {
		r := history(t)
		b := checkout(t, r, lower)
		b.write("f", "dirty\n")
		b.create()
		g := b.state()
		if g.Base != r.Git("rev-parse", "HEAD") || len(g.Tips) != 0 || (g.Carry != "") != (lower == engine.LowerFrozen) {
			t.Errorf("%s: fresh: %+v", lower, g)
		}
		// One commit on the branch, one that only another branch holds, one detached.
		tips := strings.Fields(b.inside(`git commit -q --allow-empty -m a; git rev-parse HEAD; git checkout -q -b more; git commit -q --allow-empty -m b; git rev-parse HEAD
			git checkout -q --detach; git commit -q --allow-empty -m c; git rev-parse HEAD; git pack-refs --all`))
		got := b.state()
		if len(got.Tips) != 3 {
			t.Errorf("%s: tips %v, made %v", lower, got.Tips, tips)
		}
		for _, id := range tips {
			if !strings.Contains(fmt.Sprint(got.Tips), id) {
				t.Errorf("%s: %s is not among the tips", lower, id)
			}
		}
		err := b.sb.Destroy(t.Context(), false)
		if !fault.Is(err, fault.Conflict) || len(fault.As(err).Paths) != 3 {
			t.Errorf("%s: destroy: %v", lower, err)
		}
		// The same commits in the real repository are no reason any more.
		out := b.inside("git pack-objects -q --revs --stdout <<EOF | base64 -w 0\n" + strings.Join(tips, "\n") + "\nEOF\n")
		if _, err := r.Try("rev-parse", "HEAD"); err != nil {
			t.Fatal(err)
		}
		b.write("pack.b64", out)
		gitPipe(t, r, "base64 -d pack.b64 | git unpack-objects -q; rm pack.b64")
		if got := b.state(); len(got.Tips) != 0 {
			t.Errorf("%s: tips after the import: %v", lower, got.Tips)
		}
		b.must(b.sb.Destroy(t.Context(), false))
	}
}

func gitPipe(t *testing.T, r *gittest.Repo, script string) {
	t.Helper()
	r.Git("-c", "alias.pipe=!cd \"$GIT_PREFIX.\" && "+script, "pipe")
}

// Whatever a step puts where references belong, looking for commits neither
// hangs, nor follows it, nor fails.
func TestHostileReferences(t *testing.T) {
	t.Parallel()
	b := checkout(t, history(t), engine.LowerLive).create()
	b.inside(`cd .git/refs/heads; mkfifo pipe; ln -s /etc/passwd link; ln -s . loop; mkdir -p deep/er; head -c 100000 /dev/zero > big; : > empty
		echo 'not an id' > words; printf '\377\376' > bytes; echo 0123456789012345678901234567890123456789 > nowhere
		cd ../..; rm packed-refs HEAD; ln -s /etc/shadow packed-refs; mkfifo HEAD`)
	if got := b.state().Tips; fmt.Sprint(got) != "[0123456789012345678901234567890123456789]" {
		t.Errorf("tips: %v", got)
	}
	b.must(b.sb.Destroy(t.Context(), true))
	c := checkout(t, history(t), engine.LowerLive).create()
	c.inside("rm -rf .git; echo a file > .git")
	c.must(c.sb.Destroy(t.Context(), false))
}

// A tag of a tag is peeled all the way inside, as outside.
func TestNestedTags(t *testing.T) {
	t.Parallel()
	r := history(t)
	r.Git("tag", "-a", "-m", "outer", "outer", "v1")
	r.Git("pack-refs", "--all")
	want := r.Git("show-ref", "-d", "--tags") + "\n"
	b := checkout(t, r, engine.LowerLive).create()
	if got := b.inside("git show-ref -d --tags; git log -1 --format= outer"); got != want {
		t.Errorf("inside\n%s\noutside\n%s", got, want)
	}
}
