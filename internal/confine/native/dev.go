//go:build linux

package native

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// deviceNodes are the devices that are harmless and needed. They are bound, not
// made: a user namespace may not make device nodes.
var deviceNodes = []string{"null", "zero", "full", "random", "urandom", "tty"}

// devices makes /dev: the harmless nodes, an own devpts and an own shm.
func (r *root) devices() error {
	at, err := r.mkdirAll("/dev", 0o755, false)
	if err != nil {
		return err
	}
	unix.Close(at)
	for _, n := range deviceNodes {
		src, err := openHost("/dev/" + n)
		if err != nil {
			return err
		}
		err = r.bind(src, "/dev/"+n, false, false)
		unix.Close(src)
		if err != nil {
			return err
		}
	}
	dev, err := r.open("/dev", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(dev)
	for name, text := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"ptmx": "pts/ptmx",
	} {
		if err := unix.Symlinkat(text, dev, name); err != nil {
			return &os.PathError{Op: "link", Path: "/dev/" + name, Err: err}
		}
	}
	pts, err := r.mkdirAll("/dev/pts", 0o755, false)
	if err != nil {
		return err
	}
	err = mountAt(pts, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
	unix.Close(pts)
	if err != nil {
		return fmt.Errorf("mount /dev/pts: %w", err)
	}
	return r.private("/dev/shm", 0o1777, false)
}
