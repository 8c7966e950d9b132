package fsoptest

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// childEnv tells a child process which of these it is.
const childEnv = "AMBIT_TEST_CHILD"

// Rerun runs the calling test again in a child process made as attr says and
// reports its outcome. In the child it returns true and the test goes on.
func Rerun(t *testing.T, kind string, attr *syscall.SysProcAttr) (inChild bool) {
	t.Helper()
	if os.Getenv(childEnv) == kind {
		return true
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v=true", "-test.count=1")
	cmd.Env = append(os.Environ(), childEnv+"="+kind, "TMPDIR=/tmp", "HOME=/")
	cmd.Dir = "/"
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case strings.Contains(text, "--- SKIP"):
		t.Skip(text)
	case err != nil:
		t.Fatalf("in the child (%s): %v\n%s", kind, err, text)
	case !strings.Contains(text, "--- PASS: "+t.Name()):
		t.Fatalf("the child (%s) did not run the test:\n%s", kind, text)
	}
	return false
}

// AsUser runs the test as an unprivileged user, whoever runs the tests.
func AsUser(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	return Rerun(t, "user", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
}

// InNamespace runs the test in its own user and mount namespace, where it may mount.
func InNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(childEnv) != "namespace" {
		probe := exec.CommandContext(t.Context(), "true")
		probe.SysProcAttr = namespaces()
		if err := probe.Run(); err != nil {
			t.Skipf("user namespaces are refused here: %v", err)
		}
	}
	if !Rerun(t, "namespace", namespaces()) {
		return false
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	return true
}

func namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// WithFewDescriptors runs the test where only n descriptors may be open.
func WithFewDescriptors(t *testing.T, n uint64) bool {
	t.Helper()
	if !Rerun(t, "descriptors", nil) {
		return false
	}
	lim := unix.Rlimit{Cur: n, Max: n}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	return true
}

// OnImage mounts a fresh file system of the named kind and returns a directory
// on it. It needs root, mkfs and loop devices.
func OnImage(t *testing.T, fstype string) (dir string, inChild bool) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting an image needs root")
	}
	if _, err := exec.LookPath("mkfs." + fstype); err != nil {
		t.Skipf("mkfs.%s is not installed", fstype)
	}
	if !Rerun(t, "image-"+fstype, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}) {
		return "", false
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	img, dir := base+"/img", base+"/mnt"
	mustRun(t, "truncate", "-s", "400M", img)
	mustRun(t, "mkfs."+fstype, "-q", img)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "loop", img, dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a loop image: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir, true
}

func mustRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}
