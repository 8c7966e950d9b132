//go:build linux

package native

import (
	"errors"
	"fmt"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/view"
	"golang.org/x/sys/unix"
)

// overlayError is a refused overlay mount.
type overlayError struct {
	op  view.Op
	err error
}

func (e *overlayError) Error() string {
	return fmt.Sprintf("mount overlay on %s: %v", e.op.Target, e.err)
}
func (e *overlayError) Unwrap() error { return e.err }

// explain turns what the kernel said into what the person can do.
func explain(err error) error {
	if fault.CodeOf(err) != fault.Internal {
		return err
	}
	f := fault.Wrap(fault.Unsupported, "build confinement", err)
	var oe *overlayError
	switch {
	case errors.As(err, &oe) && errors.Is(err, unix.EINVAL):
		return f.WithHint("an overlay in a user namespace needs layers on a local file system (no NFS, no overlay as upper) "+
			"with nothing mounted below %s; `--strategy copy_on_write` does without", oe.op.Target)
	case errors.As(err, &oe):
		return f.WithHint("`--strategy copy_on_write` does without overlays; `ambit doctor` says what this machine allows")
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return f.WithHint("this machine restricts mounts in user namespaces; `ambit doctor` prints what to do, `--confine landlock` does without")
	}
	return f
}
