//go:build linux

package native

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/confine/view"
	"golang.org/x/sys/unix"
)

// TestNoDescriptorLeaks opens a folder as bash's `exec 9</home` does: without
// close-on-exec, in the caller, before everything else.
func TestNoDescriptorLeaks(t *testing.T) {
	s := newStage(t) // not parallel: other tests' processes would inherit it as well
	fd, err := unix.Open(s.spec.HomeDir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	s.open()
	out, _ := s.sh("ls -l /proc/self/fd | grep -v total; for p in /proc/[0-9]*; do ls -l $p/fd; done 2>/dev/null")
	for _, bad := range []string{s.spec.HomeDir, s.spec.StateDir, "socket:", " -> /\n"} {
		if strings.Contains(out, bad) {
			t.Errorf("a command has %q open:\n%s", bad, out)
		}
	}
	if !strings.Contains(out, "pipe:") {
		t.Errorf("nothing was listed: %q", out)
	}
}

// TestMountsHideHostPaths: the table of mounts inside must not tell where layers lie.
func TestMountsHideHostPaths(t *testing.T) {
	t.Parallel()
	s := newStage(t).open()
	out, _ := s.sh("cat /proc/mounts")
	for line := range strings.SplitSeq(out, "\n") {
		if strings.Contains(line, "overlay") && strings.Contains(line, "/state/") {
			t.Errorf("%q", line)
		}
	}
	if !strings.Contains(out, "lowerdir=/proc/self/fd/") {
		t.Errorf("no overlay among\n%s", out)
	}
}

// TestRootInside is about uid 0 without capabilities: the kernel still takes it
// for the owner of what root owns.
func TestRootInside(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs uid 0")
	}
	s := newStage(t)
	write(t, 0o644, "theirs\n", s.real, "foreign.txt")
	if err := os.Chown(filepath.Join(s.real, "foreign.txt"), 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(s.real, "foreign.txt"), 0o666); err != nil {
		t.Fatal(err)
	}
	s.open()
	for script, want := range map[string]string{
		"cat /etc/shadow /etc/gshadow | wc -c": "0\n",
		"for f in core_pattern modprobe hotplug; do (echo x > /proc/sys/kernel/$f) 2>/dev/null && echo wrote $f; done; echo no": "no\n",
		"(echo h > /proc/sysrq-trigger) 2>/dev/null || echo no":                                                                 "no\n",
		"cat /proc/kcore 2>/dev/null | head -c 1 | wc -c":                                                                       "0\n",
		"echo more >> foreign.txt && mv foreign.txt moved.txt && stat -c %u moved.txt":                                          "12345\n", // no EOVERFLOW
		"grep -c . /proc/self/uid_map":                                                                                          "1\n",
		"mknod dev b 8 0 2>/dev/null; echo $?":                                                                                  "1\n",
		"su -c true nobody 2>/dev/null; test $? != 0 && echo no":                                                                "no\n",
	} {
		if out, _ := s.sh(script); out != want {
			t.Errorf("%s: %q, want %q", script, out, want)
		}
	}
	if b, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err != nil || string(b) == "x\n" {
		t.Errorf("core_pattern of the host is %q, %v", b, err)
	}
}

// TestV37_PrivateHomeLeadsNowhere: what a command leaves in its home must not
// lead the next holder's mounts elsewhere, and is kept.
func TestV37_PrivateHomeLeadsNowhere(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	write(t, 0o755, "#!/bin/sh\necho cargo\n", s.spec.HomeDir, ".cargo/bin/cargo")
	write(t, 0o644, "cached", s.spec.HomeDir, ".cache/pip/x")
	// The sandbox lies below home, too.
	below := filepath.Join(s.spec.HomeDir, "src/api")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, 0o644, "real\n", below, "a.txt")
	s.spec.Sandbox[0].Root, s.spec.Sandbox[0].Mounts[0].Target = below, below
	s.spec.Sandbox[0].Mounts[0].Lower = []string{below}
	s.real = below
	s.open()
	// The way to each mount point is replaced from inside, as far as that goes,
	// and entirely while nothing is mounted.
	s.sh("cd /; mv ~/src ~/moved; ln -s /etc ~/src; mv ~/.cache ~/c2; ln -s /usr ~/.cache; true")
	if err := s.c.Close(t.Context(), s.spec, false); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(s.spec.PlanDir, "home")
	for _, p := range []string{"src", ".cache", ".cargo"} {
		if err := os.RemoveAll(filepath.Join(home, p)); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	for p, to := range map[string]string{"src": outside, ".cache": outside, ".cargo": outside, ".gitconfig": filepath.Join(outside, "written")} {
		os.Remove(filepath.Join(home, p))
		if err := os.Symlink(to, filepath.Join(home, p)); err != nil {
			t.Fatal(err)
		}
	}
	s.open()
	if out, exit := s.sh("cat a.txt && cat ~/.cache/pip/x && ~/.cargo/bin/cargo"); exit.Code != 0 || out != "real\ncachedcargo\n" {
		t.Errorf("%q %+v", out, exit)
	}
	if es, err := os.ReadDir(outside); err != nil || len(es) != 0 {
		t.Errorf("set-up wrote through a link: %v %v", es, err)
	}
	for _, p := range []string{"src", ".cache", ".cargo"} {
		if to, err := os.Readlink(filepath.Join(home, p+".displaced-0")); err != nil || to != outside {
			t.Errorf("%s was not kept: %q %v", p, to, err)
		}
	}
}

// TestReadWrite shows further paths of the host, at their own place and through a link.
func TestReadWrite(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	base := filepath.Dir(s.real)
	linked, rw := filepath.Join(base, "linked"), filepath.Join(base, "rw")
	write(t, 0o644, "r", linked, "f")
	write(t, 0o644, "w", rw, "f")
	one := write(t, 0o644, "one\n", base, "single")
	if err := os.Symlink(linked, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	s.spec.ReadWrite = []string{filepath.Join(base, "link"), rw, one}
	s.open()
	out, exit := s.sh("cat " + base + "/link/f " + linked + "/f; echo new > " + rw + "/g && echo two >> " + one + " && cat " + one)
	if exit.Code != 0 || out != "rrone\ntwo\n" {
		t.Errorf("%q %+v", out, exit)
	}
	s.sh("touch " + base + "/x")
	if b, err := os.ReadFile(filepath.Join(rw, "g")); err != nil || string(b) != "new\n" {
		t.Error(string(b), err)
	}
	if _, err := os.Lstat(filepath.Join(base, "x")); err == nil {
		t.Error("a file beside them was made for real")
	}
}

// TestNestedUserNamespaces tries the calls by which a command could become root of its own.
func TestNestedUserNamespaces(t *testing.T) {
	t.Parallel()
	s := newStage(t).open()
	for _, script := range []string{"unshare -U true", "unshare -m true", "unshare -n true", "nsenter -t 1 -m true"} {
		if out, exit := s.sh(script); exit.Code == 0 {
			t.Errorf("%s worked: %s", script, out)
		}
	}
}

// argForbidden starts the test binary where user namespaces are forbidden.
const argForbidden = "test-forbidden"

// forbiddenMain forbids user namespaces in its own one and probes.
func forbiddenMain() int {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	p, err := New(view.OS{}).Probe(testContext{})
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	_ = json.NewEncoder(os.Stdout).Encode(p)
	return 0
}

func TestProbeWhereNamespacesAreForbidden(t *testing.T) {
	t.Parallel()
	needNamespaces(t) // TestProbe has shown it then
	c := exec.Command("/proc/self/exe", argForbidden)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	if err := c.Run(); err != nil {
		t.Fatalf("%v %s", err, errs.String())
	}
	var p engine.Probe
	if err := json.Unmarshal(out.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	if p.OK || !strings.Contains(p.Reason, "user.max_user_namespaces is 0") || !strings.Contains(p.Reason, "sysctl -w") {
		t.Errorf("%+v", p)
	}
}

// TestRemedies checks what is said about machines that this one is not.
func TestRemedies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		trials []trial
		facts  facts
		ok     bool
		says   []string
	}{
		{"all is well", []trial{{Name: trialMount}}, facts{landlock: 5}, true, []string{"Landlock ABI 5"}},
		{"no Landlock", []trial{{Name: trialMount}}, facts{}, true, []string{"namespaces stand alone"}},
		{"no overlay", []trial{{Name: trialOverlay, Errno: syscall.EPERM, Text: "x"}}, facts{landlock: 5}, true, []string{"overlay in user namespaces", "copies"}},
		{"Ubuntu", []trial{{Name: trialMount, Errno: syscall.EACCES, Text: "x"}}, facts{appArmor: "1", uid: 1000, exe: "/usr/bin/ambit"}, false, []string{`profile ambit "/usr/bin/ambit"`, "userns,", "apparmor_parser -r"}},
		{"Debian switch", []trial{{Name: trialNamespaces, Errno: syscall.EPERM, Text: "x"}}, facts{unprivileged: "0"}, false, []string{"sysctl -w kernel.unprivileged_userns_clone=1"}},
		{"container filter", []trial{{Name: trialNamespaces, Errno: syscall.EPERM, Text: "x"}}, facts{filtered: true}, false, []string{"seccomp=unconfined"}},
		{"container proc", []trial{{Name: trialProc, Errno: syscall.EPERM, Text: "x"}}, facts{}, false, []string{"systempaths=unconfined"}},
		{"old kernel", []trial{{Name: trialReadOnly, Errno: syscall.ENOSYS, Text: "x"}}, facts{kernel: "5.4"}, false, []string{"5.12", "5.4"}},
		{"used up", []trial{{Name: trialNamespaces, Errno: syscall.ENOSPC, Text: "x"}}, facts{maxUserns: "3"}, false, []string{"3"}},
		{"kernel without", []trial{{Name: trialNamespaces, Errno: syscall.EINVAL, Text: "x"}}, facts{kernel: "6.1"}, false, []string{"CONFIG_USER_NS"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := judge(c.trials, c.facts)
			all := p.Reason + "\n" + strings.Join(p.Missing, "\n")
			if p.OK != c.ok {
				t.Errorf("%+v", p)
			}
			for _, s := range c.says {
				if !strings.Contains(all, s) {
					t.Errorf("%q is missing in %q", s, all)
				}
			}
		})
	}
}

// TestOpenFailsClosed: a set-up that cannot be made is an error that says why,
// and leaves nothing behind.
func TestOpenFailsClosed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.spec.Plan = "closed-" + filepath.Base(s.spec.StateDir) + t.Name()
	s.spec.Sandbox[0].Mounts[0].Upper = filepath.Join(s.spec.StateDir, "missing")
	_, err := s.c.Open(t.Context(), s.spec)
	if !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("%v", err)
	}
	eventually(t, "a holder that failed", noProcesses(s.spec.Plan))
	if _, err := os.Stat(filepath.Join(holder.Dir(s.spec.PlanDir), "lease.json")); err == nil {
		t.Error("a lease was written")
	}
}

// TestV38_SocketsOfSystemFolders listens where a folder shows, before and after
// the holder starts.
func TestV38_SocketsOfSystemFolders(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	if os.Geteuid() != 0 {
		t.Skip("a plain user owns no folder among those that show")
	}
	dir, err := os.MkdirTemp("/var/lib", "ambit-test-")
	if err != nil {
		t.Skip("no place for a socket: " + err.Error())
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listen := func(name string) {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
	}
	s := newStage(t)
	listen("early")
	s.open()
	s.sh("true")
	listen("late")
	out, _ := s.sh("ls -A " + dir + `; /usr/bin/python3 -c '
import socket, sys
for n in sys.argv[1:]:
    try: socket.socket(socket.AF_UNIX).connect(n); print("REACHED", n)
    except OSError as e: print(e.strerror)' ` + dir + "/early " + dir + "/late")
	if strings.Contains(out, "REACHED") || !strings.HasPrefix(out, "early\nlate\n") {
		t.Errorf("%q", out)
	}
}

// TestC53_NestedMounts opens a plan over a tree that holds another mount.
func TestC53_NestedMounts(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	c := exec.Command("/proc/self/exe", argNested, t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "unsupported") || !strings.Contains(string(out), "/tree/vol") {
		t.Errorf("%v %s", err, out)
	}
}

// argNested starts the test binary in mounts of its own, with the folder to use.
const argNested = "test-nested"

func nestedMain(base string) int {
	tree := filepath.Join(base, "tree")
	err := errors.Join(os.MkdirAll(filepath.Join(tree, "vol"), 0o755), os.MkdirAll(filepath.Join(base, "plan"), 0o755))
	if err == nil {
		err = unix.Mount("tmpfs", filepath.Join(tree, "vol"), "tmpfs", 0, "")
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_, err = New(view.OS{}).Open(testContext{}, engine.CageSpec{
		Plan: "nested", PlanDir: filepath.Join(base, "plan"), StateDir: base, Home: engine.HomeHidden, HomeDir: filepath.Join(base, "home"), Network: engine.NetworkNone,
		Sandbox: []engine.Entrance{{Root: tree, Mounts: []engine.Mount{{Kind: engine.MountOverlay, Target: tree, Lower: []string{tree}, Upper: base, Work: base}}}},
	})
	fmt.Println(fault.CodeOf(err), err, fault.As(err).Paths)
	return 0
}
