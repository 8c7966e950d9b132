package copytree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// devastate changes a tree of variety in every way there is.
func (s *scene) devastate(dir string) {
	s.t.Helper()
	s.sh(dir, `
		chmod u+rwx . shut
		rm -rf a/b && echo file > a/b            # directory becomes file
		rm a/file && mkdir a/file && echo x > a/file/in  # file becomes directory
		rm a/link && ln -s elsewhere a/link && rm a/dangling && mkfifo a/dangling
		rm -r empty shut && mkdir -p new/deep/er && echo n > new/deep/f && ln -s f new/deep/l
		echo more >> p1 && rm 'sp ace/p3' && cp p1 'sp ace/p3'
		chmod 0 ro && chmod 0711 a && echo full > nothing
		rm sparse && chmod 0000 new/deep/er
		touch -d 2020-01-01 .wh.x
	`)
}

func TestO46_C128_RestoreIsExact(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.variety(s.src)
	ctx := t.Context()
	sb := s.create()
	must(t, sb.Checkpoint(ctx, "one"))
	one := shape(t, s.tree())
	s.devastate(s.tree())
	must(t, sb.Checkpoint(ctx, "two"))
	two := shape(t, s.tree())
	// Residue on top: none of it may survive.
	write(t, s.tree()+"/residue/f", "x")
	write(t, s.tree()+"/a/file/in", "changed")

	must(t, sb.Restore(ctx, "one"))
	sameShape(t, shape(t, s.tree()), one)
	must(t, s.again().Restore(ctx, "two"))
	sameShape(t, shape(t, s.tree()), two)
	sb = s.again()
	must(t, sb.Restore(ctx, "one"))
	must(t, sb.Restore(ctx, "one"))
	sameShape(t, shape(t, s.tree()), one)
	names, err := sb.Checkpoints(ctx)
	must(t, err)
	if !slices.Equal(names, []string{engine.CheckpointCreation, "one", "two"}) {
		t.Errorf("newer checkpoints are gone: %v", names)
	}
	must(t, sb.Restore(ctx, "two"))
	must(t, sb.Rollback(ctx))
	sameShape(t, shape(t, s.tree()), shape(t, s.src))
	for _, left := range []string{buildDir, oldDir} {
		if _, err := os.Lstat(s.req.Dir + "/" + left); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", left, err)
		}
	}
	err = sb.Restore(ctx, "three")
	wantCode(t, err, fault.NotFound, "three", "one")
}

// TestC128_ShutDirectoriesComeBack: what their modes hide from their own owner
// is part of a state all the same.
func TestC128_ShutDirectoriesComeBack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ctx := t.Context()
	write(t, s.src+"/f", "x")
	sb := s.create()
	shut := `mkdir -p a/b/c && echo deep > a/b/c/f && echo blind > blind && chmod 0200 blind && chmod 0 a/b/c && chmod 0400 a/b && chmod 0100 a`
	s.sh(s.tree(), shut)
	must(t, sb.Checkpoint(ctx, "shut"))
	modes := func() string {
		return s.sh(s.tree(), `m() { stat -c %a "$1"; }; m a; m blind; chmod 0700 a; m a/b; chmod 0700 a/b; m a/b/c; chmod 0700 a/b/c; cat a/b/c/f; chmod 600 blind; cat blind`)
	}
	want := "100\n200\n400\n0\ndeep\nblind\n"
	if got := modes(); got != want {
		t.Fatalf("a checkpoint changed the tree: %q, want %q", got, want)
	}
	must(t, sb.Checkpoint(ctx, "open"))
	must(t, sb.Restore(ctx, "shut"))
	set, _ := changes(t, sb, "shut", engine.CheckpointNow)
	if len(set.Changes) > 0 {
		t.Errorf("what cannot be read counts as changed:\n%s", list(set))
	}
	if got := modes(); got != want {
		t.Errorf("restored: %q, want %q", got, want)
	}
	must(t, sb.Restore(ctx, "shut"))
	must(t, sb.Rollback(ctx))
	sameShape(t, shape(t, s.tree()), shape(t, s.src))
	s.sh(s.tree(), shut)
	must(t, sb.Destroy(ctx, false))
}

func TestO48_O49_RollbackWithoutCheckpointAndWithoutGit(t *testing.T) {
	t.Parallel()
	for _, name := range both {
		s := newScene(t)
		s.strat = New(name, s.options())
		s.variety(s.src)
		want := shape(t, s.src)
		s.create()
		s.devastate(s.tree())
		// O34, O49: another process, with nothing but what is on the disk.
		must(t, s.again().Rollback(t.Context()))
		sameShape(t, shape(t, s.tree()), want)
		must(t, s.again().Rollback(t.Context()))
		// O52: usable afterwards like any other.
		s.devastate(s.tree())
		set, _ := changes(t, s.again(), engine.CheckpointCreation, engine.CheckpointNow)
		if len(set.Changes) < 10 {
			t.Errorf("after a rollback changes are not seen:\n%s", list(set))
		}
		must(t, s.again().Checkpoint(t.Context(), "x"))
		must(t, s.again().Rollback(t.Context()))
		sameShape(t, shape(t, s.tree()), want)
	}
}

func TestC132_FailedRestoreLeavesTheSandbox(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.variety(s.src)
	s.create()
	s.devastate(s.tree())
	before := shape(t, s.tree())
	// The person edits files that no checkpoint holds.
	write(t, s.src+"/a/file", "the person's edit")
	must(t, os.Remove(s.src+"/sparse"))
	err := s.again().Rollback(t.Context())
	wantCode(t, err, fault.Stale, "a/file", "sparse")
	sameShape(t, shape(t, s.tree()), before)
	if left, err := filepath.Glob(s.req.Dir + "/build*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// With a checkpoint of the creation's state it does not matter.
	o := newScene(t)
	o.variety(o.src)
	sb := o.create()
	must(t, sb.Checkpoint(t.Context(), "before:1"))
	want := shape(t, o.tree())
	o.devastate(o.tree())
	write(t, o.src+"/a/file", "the person's edit")
	must(t, o.again().Rollback(t.Context()))
	sameShape(t, shape(t, o.tree()), want)
}

func TestC132_RottenStoreIsRecognised(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	write(t, s.src+"/f", "precious")
	sb := s.create()
	must(t, sb.Checkpoint(t.Context(), "x"))
	write(t, s.tree()+"/f", "other")
	must(t, os.Remove(s.src+"/f"))
	m := mustScan(t, s, "x")
	object := s.req.Dir + "/" + objectPath(m.find("f").hash)
	must(t, os.Chmod(object, 0o600))
	must(t, os.WriteFile(object, []byte("rotten!!"), 0o600))
	set, src := changes(t, sb, "x", engine.CheckpointNow)
	if _, err := contents(src, changeset.Before, "f"); !fault.Is(err, fault.Stale) {
		t.Errorf("rotten contents were handed out: %v, %s", err, list(set))
	}
	err := sb.Restore(t.Context(), "x")
	wantCode(t, err, fault.Stale, "f")
	if got := readFile(t, s.tree()+"/f"); got != "other" {
		t.Errorf("the tree was touched: %q", got)
	}
}

func mustScan(t *testing.T, s *scene, name string) *manifest {
	t.Helper()
	d, err := fsop.OpenRoot(s.req.Dir)
	must(t, err)
	defer d.Close()
	id, err := s.again().st.checkpointNamed(name)
	must(t, err)
	m, err := loadManifest(d, id)
	must(t, err)
	return m
}

func TestCheckpointNames(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	write(t, s.src+"/f", "1")
	ctx := t.Context()
	sb := s.create()
	must(t, sb.Checkpoint(ctx, "x"))
	must(t, sb.Checkpoint(ctx, "x")) // exactly this state
	must(t, s.again().Checkpoint(ctx, engine.CheckpointCreation))
	write(t, s.tree()+"/f", "2")
	wantCode(t, sb.Checkpoint(ctx, "x"), fault.Exists, "x", "f")
	wantCode(t, sb.Checkpoint(ctx, ""), fault.Invalid)
	wantCode(t, sb.Checkpoint(ctx, engine.CheckpointNow), fault.Invalid)
	names, err := sb.Checkpoints(ctx)
	must(t, err)
	if !slices.Equal(names, []string{engine.CheckpointCreation, "x"}) {
		t.Errorf("%v", names)
	}
	// Equal states share their manifest, and unneeded ones go.
	for i := range 5 {
		must(t, sb.Checkpoint(ctx, fmt.Sprintf("same%d", i)))
	}
	left, err := os.ReadDir(s.req.Dir + "/" + manifestsDir)
	must(t, err)
	if len(left) > 3 {
		t.Errorf("%d manifests for two states", len(left))
	}
}

func TestChangesBetweenAnyStates(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.sh(s.src, "mkdir d; echo same > same; echo old > mod; echo gone > gone; echo moved-contents > d/from; ln -s a link; echo m > mode; echo t > touched; mkdir swap; echo s > swap/in; printf 'a\\0b' > bin")
	ctx := t.Context()
	sb := s.create()
	must(t, sb.Checkpoint(ctx, "one"))
	s.sh(s.tree(), "echo new > mod; rm gone; mv d/from to; ln -sfn b link; chmod 755 mode; touch -d 2001-01-01 touched; rm -r swap; echo file > swap; mkdir -p e/f; : > e/empty")
	must(t, sb.Checkpoint(ctx, "two"))
	s.sh(s.tree(), "echo again > mod; rm -r e")

	want := "created e\ncreated e/empty\ncreated e/f\ndeleted gone\nmodified link\nmodified mod\nmodified mode\nmodified swap\ndeleted swap/in\nrenamed to from d/from"
	for _, from := range []string{engine.CheckpointCreation, "one"} {
		set, src := changes(t, s.again(), from, "two")
		if got := list(set); got != want {
			t.Errorf("%s to two:\n%s\nwant:\n%s", from, got, want)
		}
		wantContents(t, src, changeset.Before, "mod", "old\n")
		wantContents(t, src, changeset.After, "mod", "new\n")
		wantContents(t, src, changeset.Before, "gone", "gone\n")
		wantContents(t, src, changeset.After, "to", "moved-contents\n")
		wantContents(t, src, changeset.Before, "to", "moved-contents\n")
		wantContents(t, src, changeset.Before, "d/from", "moved-contents\n")
		wantContents(t, src, changeset.After, "e/empty", "")
		for _, c := range set.Changes {
			switch c.Path {
			case "link":
				if c.Before.Link != "a" || c.After.Link != "b" {
					t.Errorf("link: %+v %+v", c.Before, c.After)
				}
			case "mode":
				if c.Before.Mode != 0o644 || c.After.Mode != 0o755 || c.Before.Hash != c.After.Hash {
					t.Errorf("mode: %+v %+v", c.Before, c.After)
				}
			case "swap":
				if c.Before.Kind != changeset.Dir || c.After.Kind != changeset.File {
					t.Errorf("swap: %+v %+v", c.Before, c.After)
				}
			}
		}
		if _, err := src.Open(changeset.After, "gone"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a deleted file after: %v", err)
		}
		if _, err := src.Open(changeset.Before, "link"); !fault.Is(err, fault.Conflict) {
			t.Errorf("a link's contents: %v", err)
		}
	}
	set, src := changes(t, sb, "two", engine.CheckpointNow)
	if got := list(set); got != "deleted e\ndeleted e/empty\ndeleted e/f\nmodified mod" {
		t.Errorf("two to now:\n%s", got)
	}
	wantContents(t, src, changeset.Before, "mod", "new\n")
	wantContents(t, src, changeset.After, "mod", "again\n")
	set, src = changes(t, sb, engine.CheckpointNow, "one") // backwards
	if !strings.Contains(list(set), "created gone") {
		t.Errorf("now to one:\n%s", list(set))
	}
	wantContents(t, src, changeset.Before, "mod", "again\n")
	wantContents(t, src, changeset.After, "mod", "old\n")
	if _, _, err := sb.Changes(ctx, "nope", "now", engine.ChangeOptions{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown state: %v", err)
	}
}

func TestBeforeContentsWithoutCheckpoint(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	write(t, s.src+"/still", "original")
	write(t, s.src+"/edited", "original")
	sb := s.create()
	write(t, s.tree()+"/still", "step")
	write(t, s.tree()+"/edited", "step")
	write(t, s.src+"/edited", "person")
	_, src := changes(t, sb, engine.CheckpointCreation, engine.CheckpointNow)
	wantContents(t, src, changeset.Before, "still", "original")
	wantContents(t, src, changeset.After, "edited", "step")
	_, err := src.Open(changeset.Before, "edited")
	wantCode(t, err, fault.Stale, "edited")
}

// TestUnchangedFilesAreNotReadAgain: what decides is the change time, which a
// program cannot set, and not the modification time, which it can.
func TestUnchangedFilesAreNotReadAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for i := range 50 {
		write(t, fmt.Sprintf("%s/f%d", s.src, i), "contents")
	}
	sb := s.create()
	must(t, sb.Checkpoint(t.Context(), "x"))
	before := shape(t, s.tree())
	// Same size, same modification time, other contents.
	var st unix.Stat_t
	must(t, unix.Lstat(s.tree()+"/f7", &st))
	write(t, s.tree()+"/f7", "CONTENTS")
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, s.tree()+"/f7", []unix.Timespec{st.Atim, st.Mtim}, 0))
	reads := 0
	sb.strat.intercept = func(op, path string) error {
		if op == "read" {
			reads++
		}
		return nil
	}
	set, _ := changes(t, sb, "x", engine.CheckpointNow)
	if got := list(set); got != "modified f7" {
		t.Errorf("changes:\n%s", got)
	}
	if reads > 10 { // files of the last tick of the clock are read once more
		t.Errorf("%d files were read to find one", reads)
	}
	must(t, sb.Restore(t.Context(), "x"))
	sameShape(t, shape(t, s.tree()), before)
}

func TestDamageOfAPowerCutIsNoChange(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	write(t, s.src+"/lost", "whole")
	write(t, s.src+"/step", "old")
	opts := s.options()
	opts.Boot = "first"
	s.strat = New(engine.StrategyCopyOnWrite, opts)
	sb := s.create()
	write(t, s.tree()+"/step", "new")
	// A power cut empties a file and leaves its times. No program can do that, so
	// here the manifest is what changes.
	d, err := fsop.OpenRoot(s.req.Dir)
	must(t, err)
	defer d.Close()
	m, err := loadManifest(d, sb.st.Scan)
	must(t, err)
	m.stamp += 1e9
	m.find("lost").hash = strings.Repeat("x", 32)
	must(t, fsop.WriteFileAtomic(d, manifestsDir+"/"+sb.st.Scan, m.encode(), 0o600))
	opts.Boot = "second"
	for range 2 {
		sb2, err := New(engine.StrategyCopyOnWrite, opts).Attach(t.Context(), engine.SandboxRecord{ID: "s1", Plan: "p1", Resource: s.req.Resource, Dir: s.req.Dir})
		must(t, err)
		set, _ := changes(t, sb2, engine.CheckpointCreation, engine.CheckpointNow)
		if list(set) != "modified step" || !strings.Contains(skips(set), "lost: damaged") {
			t.Errorf("changes:\n%s\nskipped:\n%s", list(set), skips(set))
		}
		must(t, sb2.Checkpoint(t.Context(), "after the boot")) // the mark outlives another manifest
	}
}

func TestO34_AttachRefusesWhatIsNotIts(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	write(t, s.src+"/f", "x")
	rec := engine.SandboxRecord{ID: "s1", Plan: "p1", Resource: s.req.Resource, Dir: s.req.Dir}
	_, err := s.strat.Attach(t.Context(), rec)
	wantCode(t, err, fault.NotFound)
	sb := s.create()
	for _, change := range []func(*engine.SandboxRecord){
		func(r *engine.SandboxRecord) { r.Plan = "p2" }, func(r *engine.SandboxRecord) { r.ID = "s2" },
	} {
		other := rec
		change(&other)
		_, err := s.strat.Attach(t.Context(), other)
		wantCode(t, err, fault.IdentityChanged)
	}
	_, err = New(engine.StrategyFilesystemCopy, s.options()).Attach(t.Context(), rec)
	wantCode(t, err, fault.IdentityChanged)
	en, err := sb.Enter(t.Context())
	must(t, err)
	if en.Path != s.tree() || en.Root != s.tree() || len(en.Mounts) != 0 {
		t.Errorf("%+v", en)
	}
	must(t, os.RemoveAll(s.tree()))
	_, err = sb.Enter(t.Context())
	wantCode(t, err, fault.NotFound)
	must(t, os.WriteFile(s.req.Dir+"/"+stateFile, []byte("{"), 0o600))
	_, err = s.strat.Attach(t.Context(), rec)
	wantCode(t, err, fault.Internal, "damaged")
}

func TestEnterConfined(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.req.Confined, s.req.Resource.Spelled, s.req.Resource.ReadOnly = true, "/spelled", true
	sb := s.create()
	en, err := sb.Enter(t.Context())
	must(t, err)
	if en.Root != s.src || en.Path != "" || !en.ReadOnly || len(en.Mounts) != 1 {
		t.Fatalf("%+v", en)
	}
	m := en.Mounts[0]
	if m.Kind != engine.MountBind || m.Source != s.tree() || m.Target != s.src || !slices.Equal(m.Aliases, []string{"/spelled"}) || !m.ReadOnly {
		t.Errorf("%+v", m)
	}
}

func TestLinksIntoTheOriginalAreNamed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	must(t, os.Symlink(s.src+"/x", s.src+"/abs"))
	must(t, os.Symlink("x", s.src+"/rel"))
	must(t, os.Symlink(s.src+"-other/x", s.src+"/other"))
	if n := strings.Join(s.create().Info().Notices, "\n"); !strings.Contains(n, "original: abs") {
		t.Errorf("not named: %s", n)
	}
}

func TestO53_DestroyIsIdempotentAndResumes(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.variety(s.src)
	sb := s.create()
	must(t, sb.Checkpoint(t.Context(), "x"))
	// Cut off in the middle of a removal.
	next := sb.st.clone()
	next.Destroying = true
	d, err := fsop.OpenRoot(s.req.Dir)
	must(t, err)
	must(t, next.save(d))
	must(t, d.RemoveAll(treeDir))
	must(t, d.Close())
	must(t, s.again().Destroy(t.Context(), false))
	must(t, sb.Destroy(t.Context(), false))
	if left, err := os.ReadDir(s.req.Dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
	s.create() // the folder can be used again
}
