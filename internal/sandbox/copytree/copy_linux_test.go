package copytree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

func TestC42_C64_CopyIsWhole(t *testing.T) {
	t.Parallel()
	for _, name := range both {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.strat = New(name, s.options())
			s.variety(s.src)
			want := shape(t, s.src)
			sb := s.create()
			sameShape(t, shape(t, s.tree()), want)
			sameShape(t, shape(t, s.src), want)
			set, _ := changes(t, sb, engine.CheckpointCreation, engine.CheckpointNow)
			if len(set.Changes)+len(set.Skipped) != 0 {
				t.Errorf("a fresh copy has changes:\n%s\n%s", list(set), skips(set))
			}
			if sb.Info().Strategy != name {
				t.Errorf("recorded as %s", sb.Info().Strategy)
			}
		})
	}
}

func TestC40_InterruptedAndDanglingRemains(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.variety(s.src)
	// What an interrupted run and a hostile neighbour may leave in the folder.
	must(t, os.MkdirAll(s.tree()+"/a/file", 0o755))
	must(t, os.Symlink("/nonexistent", s.tree()+"/ro"))
	must(t, os.Symlink(s.src, s.req.Dir+"/"+manifestsDir))
	want := shape(t, s.src)
	s.create()
	sameShape(t, shape(t, s.tree()), want)
	sameShape(t, shape(t, s.src), want)
	before := shape(t, s.req.Dir)
	s.create() // once more is nothing
	sameShape(t, shape(t, s.req.Dir), before)
}

func TestC41_C129_SpecialFilesAreListed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	write(t, s.src+"/keep", "x")
	must(t, syscall.Mkfifo(s.src+"/pipe", 0o600))
	must(t, unix.Mknod(s.src+"/sock", unix.S_IFSOCK|0o600, 0))
	must(t, os.Mkdir(s.src+"/d", 0o755))
	must(t, syscall.Mkfifo(s.src+"/d/pipe", 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // opening a FIFO would hang
	defer cancel()
	sb, err := s.strat.Create(ctx, s.req)
	must(t, err)
	set, _ := changes(t, sb, engine.CheckpointCreation, engine.CheckpointNow)
	if got, want := skips(set), "d/pipe: fifo\npipe: fifo\nsock: socket"; got != want {
		t.Errorf("listed:\n%s\nwant:\n%s", got, want)
	}
	if n := strings.Join(sb.Info().Notices, "\n"); !strings.Contains(n, "d/pipe (fifo)") || !strings.Contains(n, "3 paths") {
		t.Errorf("not said at creation: %s", n)
	}
	// One that a command makes is listed as well, and comes back with a state.
	must(t, syscall.Mkfifo(s.tree()+"/mine", 0o640))
	must(t, os.Remove(s.tree()+"/keep"))
	must(t, syscall.Mkfifo(s.tree()+"/keep", 0o600))
	set, _ = changes(t, sb, engine.CheckpointCreation, engine.CheckpointNow)
	if got := skips(set); !strings.Contains(got, "mine: fifo") || !strings.Contains(got, "keep: fifo") || len(set.Changes) != 0 {
		t.Errorf("listed:\n%s\n%s", got, list(set))
	}
	must(t, sb.Checkpoint(ctx, "with"))
	want := shape(t, s.tree())
	must(t, os.RemoveAll(s.tree()+"/mine"))
	must(t, sb.Restore(ctx, "with"))
	sameShape(t, shape(t, s.tree()), want)
}

func TestC44_ProgressAndDeadline(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for i := range 300 {
		write(t, fmt.Sprintf("%s/d%d/f%d", s.src, i%7, i), "x")
	}
	var last engine.Progress
	n := 0
	s.req.Progress = func(p engine.Progress) {
		n++
		if p.Done < last.Done || p.Unit != "bytes" || p.Phase == "" {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	}
	s.create()
	if n < 2 || last.Done != 300 {
		t.Errorf("%d reports, the last says %d of 300 bytes", n, last.Done)
	}
	other := newScene(t)
	write(t, other.src+"/f", "x")
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err := other.strat.Create(ctx, other.req)
	wantCode(t, err, fault.Timeout)
	other.create() // what it left is no hindrance
}

func TestC45_WorkersAreBounded(t *testing.T) {
	t.Parallel()
	if w := New(engine.StrategyCopyOnWrite, Options{}).workers; w < 2 || w > 16 {
		t.Errorf("%d workers", w)
	}
	if w := New(engine.StrategyCopyOnWrite, Options{Workers: 1}).workers; w != 1 {
		t.Errorf("%d workers instead of 1", w)
	}
}

// TestC46_LowDescriptorLimit copies, checkpoints, restores and compares a tree
// of 60 levels and many files with 48 descriptors.
func TestC46_LowDescriptorLimit(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	deep := s.src
	for i := range 60 {
		deep += fmt.Sprintf("/d%d", i)
		write(t, deep+"/f", fmt.Sprint(i))
	}
	for i := range 200 {
		write(t, fmt.Sprintf("%s/wide/f%d", s.src, i), "x")
	}
	if out, err := spawn(t, s, "nofile").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestC48_HolesStay(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.sh(s.src, `truncate -s 200M big; printf x | dd of=big bs=1 seek=100M conv=notrunc status=none; head -c 1M /dev/urandom >> big`)
	sb := s.create()
	blocks := func(p string) (int64, int64) {
		var st unix.Stat_t
		must(t, unix.Lstat(p, &st))
		return st.Size, st.Blocks * 512
	}
	size, used := blocks(s.src + "/big")
	check := func(what string) {
		t.Helper()
		gotSize, gotUsed := blocks(s.tree() + "/big")
		if gotSize != size || gotUsed > used+used/20+8192 {
			t.Errorf("%s: %d bytes in %d, the original %d in %d", what, gotSize, gotUsed, size, used)
		}
	}
	check("copy")
	must(t, sb.Checkpoint(t.Context(), "x"))
	must(t, os.Remove(s.tree()+"/big"))
	must(t, sb.Restore(t.Context(), "x"))
	check("restored")
}

func TestC49_C86_OriginalIsNeverTouched(t *testing.T) {
	t.Parallel()
	for _, name := range both {
		s := newScene(t)
		s.strat = New(name, s.options())
		s.variety(s.src)
		want := shape(t, s.src)
		sb := s.create()
		must(t, sb.Checkpoint(t.Context(), "x"))
		// In place, through every name, and by removing.
		s.sh(s.tree(), `chmod u+rwx . shut && echo more >> a/file && echo more >> a/p2 && dd if=/dev/zero of=sparse bs=1k count=1 conv=notrunc status=none &&
			chmod 0777 ro && touch a/b && rm -r shut && setfattr -n user.x -v y a/b/bin 2>/dev/null || true`)
		sameShape(t, shape(t, s.src), want)
		if got := readFile(t, s.tree()+"/p1"); got != "pair\nmore\n" {
			t.Errorf("a pair is no pair in the copy: %q", got)
		}
		var a, b unix.Stat_t
		must(t, unix.Lstat(s.tree()+"/p1", &a))
		must(t, unix.Lstat(s.src+"/p1", &b))
		if a.Nlink != 3 || b.Nlink != 3 || a.Ino == b.Ino {
			t.Errorf("links: %d in the copy, %d in the original", a.Nlink, b.Nlink)
		}
		must(t, sb.Rollback(t.Context()))
		must(t, sb.Destroy(t.Context(), false))
		sameShape(t, shape(t, s.src), want)
		if left, err := os.ReadDir(s.req.Dir); err != nil || len(left) != 0 {
			t.Errorf("destroyed, and left: %v %v", left, err)
		}
	}
}

func TestC50_O21_RecordSaysWhatWasDone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	write(t, s.src+"/a", "12345")
	write(t, s.src+"/b", "67890")
	sb := s.create()
	for _, phase := range []string{"prepare", "copy", "manifest"} {
		if _, ok := sb.Info().Timings[phase]; !ok {
			t.Errorf("no time for %s: %v", phase, sb.Info().Timings)
		}
	}
	st := s.again().st
	if st.Copied.Files+st.Shared.Files != 2 || st.Copied.Bytes+st.Shared.Bytes != 10 {
		t.Errorf("%+v copied, %+v shared", st.Copied, st.Shared)
	}
	if n := strings.Join(sb.Info().Notices, "\n"); !strings.Contains(n, "2 files, 10 bytes") {
		t.Errorf("not said: %s", n)
	}
	full := newScene(t)
	full.strat = New(engine.StrategyFilesystemCopy, full.options())
	write(t, full.src+"/a", "12345")
	full.create()
	if st := full.again().st; st.Shared.Files != 0 || st.Copied.Files != 1 {
		t.Errorf("a full copy shares: %+v %+v", st.Copied, st.Shared)
	}
}

func TestO53_IgnoredAndBuildFilesComeAlongAndStay(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.git()
	write(t, s.src+"/build/out", "old")
	write(t, s.src+"/x.log", "log")
	sb := s.create()
	write(t, s.tree()+"/build/out", "new")
	write(t, s.tree()+"/build/sub/more", "m")
	write(t, s.tree()+"/src.go", "package x")
	s.sh(s.tree(), "git add -A && git commit -qm step && git config x.y z")
	ignored := func(_ context.Context, paths []string) (map[string]bool, error) {
		hit := map[string]bool{}
		for _, p := range paths {
			if strings.HasPrefix(p, "build/") {
				hit[p] = true
			}
		}
		return hit, nil
	}
	set, _, err := sb.Changes(t.Context(), engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{Ignored: ignored, KeepIgnored: true})
	must(t, err)
	if got := list(set); got != "created src.go" {
		t.Errorf("changes:\n%s", got)
	}
	if set.IgnoredPaths != 3 || len(set.Ignored) != 3 || set.Ignored[0].Path != "build/out" {
		t.Errorf("ignored: %d %v", set.IgnoredPaths, set.Ignored)
	}
	if got := readFile(t, s.src+"/build/out"); got != "old" {
		t.Errorf("the original's %q", got)
	}
}

func TestC54_SandboxInsideItsSource(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	inside := s.src + "/deep/state/s1"
	must(t, os.MkdirAll(inside, 0o700))
	link := s.base + "/elsewhere"
	must(t, os.Symlink(s.src+"/deep", link))
	for _, dir := range []string{inside, link + "/state/s1", s.src} {
		s.req.Dir = dir
		p, err := s.strat.Probe(t.Context(), s.req)
		if err != nil || p.OK || !strings.Contains(p.Reason, "inside") {
			t.Errorf("%s: %+v %v", dir, p, err)
		}
		_, err = s.strat.Create(t.Context(), s.req)
		wantCode(t, err, fault.Invalid, "inside")
	}
	if _, err := os.Stat(inside); err != nil {
		t.Errorf("a refused creation cleared a folder: %v", err)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.variety(s.src)
	before := shape(t, s.req.Dir)
	for _, name := range both {
		p, err := New(name, s.options()).Probe(t.Context(), s.req)
		if err != nil || !p.OK || !strings.Contains(p.Reason, "files") {
			t.Errorf("%s: %+v %v", name, p, err)
		}
		if name == engine.StrategyCopyOnWrite && !strings.Contains(p.Reason, "share") {
			t.Errorf("it does not say whether blocks are shared: %s", p.Reason)
		}
	}
	sameShape(t, shape(t, s.req.Dir), before)
	gone := s.req
	gone.Resource.Path = s.base + "/nowhere"
	p, err := s.strat.Probe(t.Context(), gone)
	if err != nil || p.OK || !strings.Contains(p.Reason, "nowhere") {
		t.Errorf("a missing source: %+v %v", p, err)
	}
	git := s.req
	git.Resource.Git = &engine.GitInfo{GitDir: s.src + "/.git", CommonDir: s.src + "/.git"}
	p, err = New(engine.StrategyCopyOnWrite, Options{}).Probe(t.Context(), git)
	if err != nil || p.OK || !strings.Contains(p.Reason, "git") {
		t.Errorf("no git: %+v %v", p, err)
	}
	git.Resource.Git.Bare = true
	p, err = s.strat.Probe(t.Context(), git)
	if err != nil || p.OK || !strings.Contains(p.Reason, "bare") {
		t.Errorf("a bare repository: %+v %v", p, err)
	}
}

func TestUnreadableFilesAreListed(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	s := newScene(t)
	write(t, s.src+"/open", "x")
	write(t, s.src+"/secret", "x")
	write(t, s.src+"/d/in", "x")
	must(t, os.Chmod(s.src+"/secret", 0))
	must(t, os.Chmod(s.src+"/d", 0))
	sb := s.create()
	set, _ := changes(t, sb, engine.CheckpointCreation, engine.CheckpointNow)
	if got := skips(set); !strings.Contains(got, "secret: unreadable") || !strings.Contains(got, "d: unreadable") || len(set.Changes) != 0 {
		t.Errorf("listed:\n%s\nchanges:\n%s", got, list(set))
	}
}

// TestC53_NestedMountsAreCrossed needs to mount, so it runs as another process.
func TestC53_NestedMountsAreCrossed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	must(t, os.MkdirAll(s.src+"/mnt", 0o755))
	must(t, os.MkdirAll(s.src+"/kernel", 0o755))
	out := inNamespace(t, s, "TestMountChild")
	for _, want := range []string{"crossed: inside", "probe refused: a proc file system is mounted at " + s.src + "/kernel"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

func TestMountChild(t *testing.T) {
	base := os.Getenv("COPYTREE_MOUNTS")
	if base == "" {
		t.Skip("started by TestC53_NestedMountsAreCrossed")
	}
	s := &scene{t: t, base: base, src: base + "/src"}
	s.strat = New(engine.StrategyCopyOnWrite, Options{})
	s.req = engine.CreateRequest{Plan: "p1", ID: "s1", Dir: base + "/state/s1", Resource: engine.Resource{Path: s.src}, Now: time.Now()}
	must(t, syscall.Mount("tmpfs", s.src+"/mnt", "tmpfs", 0, ""))
	write(t, s.src+"/mnt/sub/f", "inside")
	p, err := s.strat.Probe(t.Context(), s.req)
	must(t, err)
	if !p.OK {
		t.Fatal(p.Reason)
	}
	s.create()
	fmt.Println("crossed:", readFile(t, s.tree()+"/mnt/sub/f"))
	must(t, syscall.Mount("proc", s.src+"/kernel", "proc", 0, ""))
	p, err = s.strat.Probe(t.Context(), s.req)
	must(t, err)
	if p.OK {
		t.Fatal("proc would be copied")
	}
	fmt.Println("probe refused:", p.Reason)
}

func TestFullDiskIsKnownBefore(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.sh(s.src, "head -c 3M /dev/urandom > big")
	out := inNamespace(t, s, "TestFullDiskChild")
	if !strings.Contains(out, "refused: the copy needs") || !strings.Contains(out, "create: unavailable") {
		t.Errorf("%s", out)
	}
}

func TestFullDiskChild(t *testing.T) {
	base := os.Getenv("COPYTREE_MOUNTS")
	if base == "" {
		t.Skip("started by TestFullDiskIsKnownBefore")
	}
	strat := New(engine.StrategyCopyOnWrite, Options{})
	req := engine.CreateRequest{Plan: "p1", ID: "s1", Dir: base + "/state/s1", Resource: engine.Resource{Path: base + "/src"}, Now: time.Now()}
	must(t, syscall.Mount("tmpfs", req.Dir, "tmpfs", 0, "size=1m"))
	p, err := strat.Probe(t.Context(), req)
	must(t, err)
	if !p.OK {
		fmt.Println("refused:", p.Reason)
	}
	_, err = strat.Create(t.Context(), req)
	fmt.Printf("create: %s %v\n", fault.CodeOf(err), err)
	if left, err := filepath.Glob(req.Dir + "/sandbox.json"); err != nil || len(left) > 0 {
		t.Error("a failed creation counts as whole")
	}
}
