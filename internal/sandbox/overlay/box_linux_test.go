package overlay_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/discover"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"github.com/ambit-run/ambit/internal/gitx/gittest"
	"github.com/ambit-run/ambit/internal/sandbox/conformance"
	"github.com/ambit-run/ambit/internal/sandbox/overlay"
)

func maker(git *gitx.Git, intercept fsop.Intercept) []engine.Strategy {
	return []engine.Strategy{overlay.New(overlay.Options{Git: git, Intercept: intercept})}
}

// probeElsewhere is the name under which the test binary probes from other
// namespaces or as another user.
const probeElsewhere = "overlay-test-probe"

func TestMain(m *testing.M) {
	if os.Args[0] == probeElsewhere {
		os.Exit(probeThere())
	}
	conformance.Main(m, maker)
}

// box is one sandbox over one real tree.
type box struct {
	t     testing.TB
	root  string // of the test: state and tree
	dir   string // the real tree
	git   *gitx.Git
	strat *overlay.Strategy
	req   engine.CreateRequest
	sb    engine.Sandbox
}

func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// plain prepares a sandbox over a directory of the given files (path, contents, ...).
func plain(t testing.TB, files ...string) *box {
	t.Helper()
	conformance.Check(t, conformance.Namespaces())
	b := &box{t: t, root: tempDir(t)}
	b.dir = filepath.Join(b.root, "tree")
	b.must(os.Mkdir(b.dir, 0o755))
	b.write(files...)
	b.strat = overlay.New(overlay.Options{})
	b.request(engine.Resource{Name: "tree", Type: engine.TypeFSDirectory, Path: b.dir}, engine.LowerLive)
	return b
}

// checkout prepares a sandbox over a repository.
func checkout(t testing.TB, r *gittest.Repo, lower engine.Lower) *box {
	t.Helper()
	conformance.Check(t, conformance.Namespaces())
	b := &box{t: t, root: tempDir(t), dir: r.Dir, git: gittest.Git(t)}
	b.strat = overlay.New(overlay.Options{Git: b.git})
	res, err := discover.New(b.git, "").Discover(t.Context(), r.Dir)
	b.must(err)
	b.request(res, lower)
	return b
}

func (b *box) request(res engine.Resource, lower engine.Lower) {
	b.t.Helper()
	plan := fmt.Sprintf("try-%05d", len(b.root)%100)
	dir := filepath.Join(b.root, "state/plans", plan, "sandboxes/s1")
	b.must(os.MkdirAll(dir, 0o700))
	b.t.Cleanup(func() {
		// The kernel leaves folders of mode 000 in work, which os.RemoveAll cannot
		// remove for a plain user.
		if d, err := fsop.OpenRoot(filepath.Join(b.root, "state")); err == nil {
			_ = d.RemoveAll(".")
			_ = d.Close()
		}
	})
	b.req = engine.CreateRequest{
		Plan: plan, ID: "s1", Dir: dir, BasesDir: filepath.Join(b.root, "state/bases"), Resource: res,
		Lower: lower, Dirty: engine.DirtyCarry, Confined: true, Now: time.Now(),
	}
}

// sibling is a further sandbox over the same tree.
func (b *box) sibling(id string) *box {
	b.t.Helper()
	c := *b
	c.sb = nil
	c.req.Plan, c.req.Dir = id, filepath.Join(b.root, "state/plans", id, "sandboxes/s1")
	b.must(os.MkdirAll(c.req.Dir, 0o700))
	return &c
}

func (b *box) must(err error) {
	b.t.Helper()
	conformance.Check(b.t, err)
}

func (b *box) create() *box {
	b.t.Helper()
	sb, err := b.strat.Create(b.t.Context(), b.req)
	b.must(err)
	b.sb = sb
	return b
}

func (b *box) attach() {
	b.t.Helper()
	rec := b.sb.Info()
	sb, err := b.strat.Attach(b.t.Context(), rec)
	b.must(err)
	b.sb = sb
}

// inside runs a script in the sandbox.
func (b *box) inside(script string) string {
	b.t.Helper()
	en, err := b.sb.Enter(b.t.Context())
	b.must(err)
	out, err := conformance.Inside(en, script)
	b.must(err)
	return out
}

// write makes files of the real tree, in place.
func (b *box) write(pairs ...string) {
	b.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		p := filepath.Join(b.dir, pairs[i])
		b.must(os.MkdirAll(filepath.Dir(p), 0o755))
		b.must(os.WriteFile(p, []byte(pairs[i+1]), 0o644))
	}
}

func (b *box) remove(path string) {
	b.t.Helper()
	b.must(os.RemoveAll(filepath.Join(b.dir, path)))
}

func (b *box) changes(opts engine.ChangeOptions) (*changeset.Set, changeset.Source) {
	b.t.Helper()
	set, src, err := b.sb.Changes(b.t.Context(), engine.CheckpointCreation, engine.CheckpointNow, opts)
	b.must(err)
	return set, src
}

// summary is a set in one line per change: "op path".
func summary(set *changeset.Set) string {
	var out []string
	for _, c := range set.Changes {
		line := string(c.Op) + " " + c.Path
		if c.From != "" {
			line += " from " + c.From
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func (b *box) wantSummary(set *changeset.Set, want ...string) {
	b.t.Helper()
	if got := summary(set); got != strings.Join(want, "\n") {
		b.t.Errorf("changes:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

func (b *box) wantNotice(part string) {
	b.t.Helper()
	if !slices.ContainsFunc(b.sb.Info().Notices, func(n string) bool { return strings.Contains(n, part) }) {
		b.t.Errorf("no notice says %q: %q", part, b.sb.Info().Notices)
	}
}

// elsewhere is where and for what a probe is made by another process.
type elsewhere struct {
	Req       engine.CreateRequest
	Namespace bool     // in user and mount namespaces of its own
	Mounts    []string // there: "tmpfs DIR", "bind FROM TO", "overlay DIR"
	NoUserNS  bool     // there: no further user namespaces
	UID       int      // root only: as this user
}

// probeFrom probes from elsewhere. It skips the test where that cannot be had.
func probeFrom(t *testing.T, e elsewhere) engine.Probe {
	t.Helper()
	var raw, stdout, stderr bytes.Buffer
	if err := gob.NewEncoder(&raw).Encode(e); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Stdin, cmd.Stdout, cmd.Stderr = []string{probeElsewhere}, &raw, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if e.Namespace {
		uid, gid := os.Geteuid(), os.Getegid()
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_RESOURCE}
	}
	if e.UID != 0 {
		if os.Geteuid() != 0 {
			t.Skip("only root can become another user")
		}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(e.UID), Gid: uint32(e.UID), NoSetGroups: false}
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("probe elsewhere: %v\n%s", err, stderr.String())
	}
	var p engine.Probe
	if err := json.Unmarshal(stdout.Bytes(), &p); err != nil {
		t.Fatalf("probe elsewhere: %v\n%s", err, stdout.String())
	}
	return p
}

func probeThere() int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var e elsewhere
	if err := gob.NewDecoder(os.Stdin).Decode(&e); err != nil {
		return fail(err)
	}
	if e.Namespace {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return fail(err)
		}
	}
	for _, m := range e.Mounts {
		f := strings.Split(m, " ")
		var err error
		switch f[0] {
		case "tmpfs":
			err = unix.Mount("tmpfs", f[1], "tmpfs", 0, "")
		case "bind":
			err = unix.Mount(f[1], f[2], "", unix.MS_BIND, "")
		case "overlay":
			err = unix.Mount("overlay", f[1], "overlay", 0, fmt.Sprintf("userxattr,lowerdir=%s-l,upperdir=%s-u,workdir=%s-w", f[1], f[1], f[1]))
		}
		if err != nil {
			return fail(fmt.Errorf("%s: %w", m, err))
		}
		if f[0] == "overlay" {
			if err := os.MkdirAll(e.Req.Dir, 0o700); err != nil {
				return fail(err)
			}
		}
	}
	if e.NoUserNS {
		if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
			return fail(err)
		}
	}
	p, err := overlay.New(overlay.Options{}).Probe(context.Background(), e.Req)
	if err != nil {
		return fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(p); err != nil {
		return fail(err)
	}
	return 0
}
