package overlay_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// refused fails the test unless a probe says no for the given reason and says
// what to do.
func refused(t *testing.T, p engine.Probe, parts ...string) {
	t.Helper()
	all := strings.Join(p.Missing, "\n")
	if p.OK || p.Reason == "" {
		t.Fatalf("the probe says yes: %+v", p)
	}
	for _, part := range parts {
		if !strings.Contains(all, part) {
			t.Errorf("nothing says %q:\n%s", part, all)
		}
	}
}

func (b *box) probe() engine.Probe {
	b.t.Helper()
	p, err := b.strat.Probe(b.t.Context(), b.req)
	b.must(err)
	return p
}

func TestProbeLeavesNothing(t *testing.T) {
	t.Parallel()
	b := plain(t, "f", "f\n", "d/g", "g\n")
	if p := b.probe(); !p.OK {
		t.Fatalf("%+v", p)
	}
	entries, err := os.ReadDir(b.req.Dir)
	b.must(err)
	if len(entries) != 0 {
		t.Errorf("left in the sandbox's folder: %v", entries)
	}
	if got, err := os.ReadFile(filepath.Join(b.dir, "f")); err != nil || string(got) != "f\n" {
		t.Errorf("the real file: %q, %v", got, err)
	}
	marks, err := filepath.Glob(filepath.Join(b.req.BasesDir, ".probed/*"))
	b.must(err)
	if len(marks) != 1 {
		t.Errorf("remembered: %v", marks)
	}
	if p := b.probe(); !p.OK {
		t.Errorf("from memory: %+v", p)
	}
	if p := probeFrom(t, elsewhere{Req: b.req}); !p.OK {
		t.Errorf("another process: %+v", p)
	}
}

func TestProbeNeedsNamespaces(t *testing.T) {
	t.Parallel()
	b := plain(t, "f", "f\n")
	b.req.Confined = false
	refused(t, b.probe(), "native confinement")
	if _, err := b.strat.Create(t.Context(), b.req); !fault.Is(err, fault.Unsupported) {
		t.Errorf("create: %v", err)
	}
	b.req.Confined = true
	refused(t, probeFrom(t, elsewhere{Req: b.req, Namespace: true, NoUserNS: true}),
		"user namespaces are switched off", "sysctl -w user.max_user_namespaces=")
}

func TestC53_NestedMount(t *testing.T) {
	t.Parallel()
	b := plain(t, "f", "f\n", "sub/in", "x\n")
	p := probeFrom(t, elsewhere{Req: b.req, Namespace: true, Mounts: []string{"tmpfs " + b.dir + "/sub"}})
	refused(t, p, b.dir+"/sub is a mount of its own inside the resource", "copy_on_write")
}

// C54, C65: the state folder must not lie in the tree, nor the tree in it, by
// whatever name either is reached.
func TestC54_StateInsideTheTree(t *testing.T) {
	t.Parallel()
	b := plain(t, "f", "f\n")
	link := filepath.Join(b.root, "link")
	b.must(os.Symlink(b.dir, link))
	for _, state := range []string{filepath.Join(b.dir, "state"), filepath.Join(link, "state2")} {
		b.req.Dir = filepath.Join(state, "plans/p/sandboxes/s1")
		b.must(os.MkdirAll(b.req.Dir, 0o700))
		refused(t, b.probe(), "lies inside the resource", "AMBIT_HOME")
	}
	c := plain(t, "f", "f\n")
	c.req.Resource.Path = filepath.Join(c.req.BasesDir, "x")
	c.must(os.MkdirAll(c.req.Resource.Path, 0o700))
	refused(t, c.probe(), "lies inside the state folder")
}

// The same through a second mount of a part of the tree, which no walk upwards
// from the state folder would meet.
func TestC54_StateInsideThroughAnotherMount(t *testing.T) {
	t.Parallel()
	b := plain(t, "sub/f", "f\n")
	alias := filepath.Join(b.root, "alias")
	b.must(os.Mkdir(alias, 0o700))
	b.req.Dir = filepath.Join(alias, "s1")
	b.must(os.Mkdir(filepath.Join(b.dir, "sub/s1"), 0o700))
	p := probeFrom(t, elsewhere{Req: b.req, Namespace: true, Mounts: []string{"bind " + b.dir + "/sub " + alias}})
	refused(t, p, "lies inside the resource")
}

func TestProbeUpperOnOverlay(t *testing.T) {
	t.Parallel()
	b := plain(t, "f", "f\n")
	at := filepath.Join(b.root, "ov")
	for _, s := range []string{"", "-l", "-u", "-w"} {
		b.must(os.Mkdir(at+s, 0o700))
	}
	b.req.Dir = filepath.Join(at, "plans/p/sandboxes/s1")
	p := probeFrom(t, elsewhere{Req: b.req, Namespace: true, Mounts: []string{"overlay " + at}})
	refused(t, p, "the state folder is on overlayfs", "AMBIT_HOME")
}

// C62: only a FUSE file system proves the row; without a program that serves one
// the test says so.
func TestC62_FUSELower(t *testing.T) {
	t.Parallel()
	prog, err := exec.LookPath("fuse-overlayfs")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("fuse-overlayfs is not installed, or this is not root: no FUSE file system to try")
	}
	b := plain(t, "f", "f\n")
	at := filepath.Join(b.root, "fuse")
	b.must(os.Mkdir(at, 0o755))
	if out, err := exec.Command(prog, "-o", "lowerdir="+b.dir, at).CombinedOutput(); err != nil {
		t.Skipf("fuse-overlayfs does not mount here: %v %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", at).Run() })
	b.req.Resource.Path = at
	refused(t, b.probe(), "FUSE")
}

// Files of other owners: a plain user's namespace cannot change them; root's can.
func TestProbeForeignOwner(t *testing.T) {
	t.Parallel()
	b := plain(t, "mine", "m\n", "deep/er/theirs", "t\n")
	if os.Geteuid() != 0 {
		b.req.Resource.Path = "/usr"
		refused(t, b.probe(), ". belongs to user 0", "chown")
		return
	}
	const uid = 4300
	if p := b.probe(); !p.OK {
		t.Fatalf("root maps everybody: %+v", p)
	}
	b.must(os.RemoveAll(filepath.Join(b.req.BasesDir, ".probed")))
	b.must(filepath.WalkDir(b.root, func(p string, _ os.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(p, "theirs") {
			return err
		}
		return os.Lchown(p, uid, uid)
	}))
	for dir := b.root; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		b.must(os.Chmod(dir, 0o755))
	}
	refused(t, probeFrom(t, elsewhere{Req: b.req, UID: uid}), "deep/er/theirs belongs to user 0, group 0", "user 4300")
	b.must(os.Lchown(filepath.Join(b.dir, "deep/er/theirs"), uid, uid))
	if p := probeFrom(t, elsewhere{Req: b.req, UID: uid}); !p.OK {
		t.Errorf("all files are the user's now: %+v", p)
	}
}

func TestProbeWithoutGit(t *testing.T) {
	t.Parallel()
	r := history(t)
	b := checkout(t, r, engine.LowerLive)
	res := b.req.Resource
	c := plain(t)
	c.req.Resource = res
	refused(t, c.probe(), "there is no git program")
	b.must(os.Mkdir(filepath.Join(r.Dir, ".git/reftable"), 0o755))
	refused(t, b.probe(), "reftable")
}

// C12: the sandbox of one directory is not entered over another that took its name.
func TestC12_ReplacedResource(t *testing.T) {
	t.Parallel()
	b := plain(t, "f", "f\n").create()
	b.must(os.Rename(b.dir, b.dir+".old"))
	b.must(os.Mkdir(b.dir, 0o755))
	b.attach()
	if _, err := b.sb.Enter(t.Context()); !fault.Is(err, fault.IdentityChanged) {
		t.Errorf("enter: %v", err)
	}
	if _, _, err := b.sb.Changes(t.Context(), engine.CheckpointCreation, engine.CheckpointNow, engine.ChangeOptions{}); !fault.Is(err, fault.IdentityChanged) {
		t.Errorf("changes: %v", err)
	}
	b.must(b.sb.Destroy(t.Context(), false))
}
