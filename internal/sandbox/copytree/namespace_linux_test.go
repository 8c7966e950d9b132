package copytree

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// inNamespace runs one test of this binary where it may mount, and returns what
// it printed. It skips where this machine has no user namespaces.
func inNamespace(t *testing.T, s *scene, test string) string {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	c := exec.Command(exe, "-test.run=^"+test+"$", "-test.v")
	c.Env = append(cleanEnv(), "COPYTREE_MOUNTS="+s.base)
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skipf("no user namespace on this machine: %v", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
