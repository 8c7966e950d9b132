package copytree

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// pseudo are file systems whose files are a view of the kernel, not data.
var pseudo = []string{
	"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
	"fusectl", "hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs", "tracefs",
}

// uncopyableMounts names what is mounted below a directory and cannot be copied.
// Ordinary file systems mounted there are copied like the rest (C53).
func uncopyableMounts(path string) ([]string, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	var out []string
	for line := range strings.Lines(string(raw)) {
		fields, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(fields), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 1 {
			continue
		}
		at := unescapeMount(f[4])
		if !strings.HasPrefix(at, strings.TrimSuffix(path, "/")+"/") || !slices.Contains(pseudo, g[0]) {
			continue
		}
		out = append(out, fmt.Sprintf("a %s file system is mounted at %s and cannot be copied: unmount it", g[0], at))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// unescapeMount undoes the octal escapes of mountinfo.
func unescapeMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
