//go:build linux

package native

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/engine"
)

var _ engine.Circumstanced = (*Confiner)(nil)

// circumstances are files whose text decides what a process may do with
// namespaces and mounts: limits and switches, ids and capabilities, labels.
var circumstances = []string{
	"/proc/sys/user/max_user_namespaces", "/proc/sys/user/max_mnt_namespaces", "/proc/sys/user/max_pid_namespaces",
	"/proc/sys/user/max_net_namespaces", "/proc/sys/user/max_ipc_namespaces", "/proc/sys/user/max_uts_namespaces",
	"/proc/sys/user/max_cgroup_namespaces",
	"/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
	"/proc/sys/kernel/osrelease", "/proc/self/uid_map", "/proc/self/gid_map", "/proc/self/attr/current",
}

// Circumstances names what Probe depends on; see engine.Circumstanced.
func (c *Confiner) Circumstances() string {
	var b strings.Builder
	for _, f := range circumstances {
		text, err := os.ReadFile(f)
		if err != nil {
			text = nil // not in this kernel
		}
		fmt.Fprintf(&b, "%q\n", text)
	}
	for _, ns := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		id, err := os.Readlink("/proc/self/ns/" + ns)
		if err != nil {
			return ""
		}
		fmt.Fprintln(&b, id)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(status)) {
		switch key, _, _ := strings.Cut(line, ":"); key {
		case "Uid", "Gid", "CapPrm", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters":
			b.WriteString(line)
		}
	}
	f := machineFacts()
	fmt.Fprintf(&b, "%q %v %v %d\n", f.exe, f.procMasked, f.inside, f.landlock)
	var root unix.Stat_t // in a chroot there are no user namespaces
	if err := unix.Stat("/", &root); err != nil {
		return ""
	}
	fmt.Fprintln(&b, root.Dev, root.Ino)
	return b.String()
}
