//go:build linux

package guard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// newGroup makes a cgroup (version 2) below the caller's own. It returns an empty
// path where the caller may not, which is the usual case without delegation.
func newGroup(token string) (dir string, f *os.File) {
	parent := ownGroup()
	if parent == "" {
		return "", nil
	}
	dir = filepath.Join(parent, "ambit-"+token)
	if os.Mkdir(dir, 0o755) != nil {
		return "", nil
	}
	f, err := os.Open(dir)
	if err != nil {
		os.Remove(dir)
		return "", nil
	}
	// Kernels before 5.14 cannot kill a group.
	if unix.Access(filepath.Join(dir, "cgroup.kill"), unix.W_OK) != nil {
		f.Close()
		os.Remove(dir)
		return "", nil
	}
	return dir, f
}

// ownGroup returns the folder of the calling process's cgroup of version 2.
func ownGroup() string {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	var rel string
	found := false
	for line := range strings.SplitSeq(string(b), "\n") {
		if r, ok := strings.CutPrefix(line, "0::"); ok {
			rel, found = r, true
		}
	}
	if !found {
		return ""
	}
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var st unix.Statfs_t
		if unix.Statfs(root, &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC {
			return filepath.Join(root, rel)
		}
	}
	return ""
}

// killGroup kills everything in a cgroup, waits until it is empty and removes it.
func killGroup(ctx context.Context, dir string) error {
	if dir == "" {
		return nil
	}
	err := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		// A group can be removed once nothing is in it, not even a zombie.
		err := os.Remove(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
