package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// folderFault turns an error about ambit's own state folder into a fault that
// says what to do.
func folderFault(op string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fault.New(fault.Unavailable, op, "the disk that holds the state folder is full").WithCause(err).
			WithHint("free some space, or point AMBIT_HOME at a folder on another disk; `ambit discard` drops plans you no longer need")
	case errors.Is(err, syscall.EROFS):
		return fault.New(fault.Unavailable, op, "the state folder is on a read-only file system").WithCause(err).
			WithHint("point AMBIT_HOME at a writable folder")
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.Denied, op, "the state folder is not writable").WithCause(err).
			WithHint("check its owner, or point AMBIT_HOME at a folder of your own")
	case errors.Is(err, fs.ErrExist):
		return fault.New(fault.Exists, op, "the state folder already holds that").WithCause(err)
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, op, "the state folder lacks it").WithCause(err)
	}
	return fault.Wrap(fault.Internal, op, err)
}

// writeDurable replaces a file of ambit's own state as a whole, or not at all.
func writeDurable(path string, data []byte) error {
	dir, err := fsop.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return fsop.WriteFileAtomic(dir, filepath.Base(path), data, 0o600)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open folder to sync: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

func marshal(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return raw, nil
}
