package cli

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/boundary"
)

// thisMachine is what limits are compared with. What cannot be read is unknown.
func thisMachine() boundary.Machine {
	m := boundary.Machine{CPUs: runtime.NumCPU()}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.Memory = int64(info.Totalram) * int64(info.Unit)
	}
	if raw, err := os.ReadFile("/proc/sys/kernel/pid_max"); err == nil {
		m.PIDs, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
	}
	return m
}
