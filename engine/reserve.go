package engine

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/ambit-run/ambit/internal/fsop"
)

// A plan can fill the file system that the state folder lies on. Then even what
// would free space, a discard, has no room to say so in the store. So a little is
// set aside when a plan is made, and given away to whoever clears up.

const (
	// reserveBytes are some hundred pages of the store; a discard writes a few.
	reserveBytes = 2 << 20
	// reserveAbove is what must be free besides, so that setting aside is not what
	// fills a small file system.
	reserveAbove = 16 << 20
)

func (e *Engine) reservePath() string { return filepath.Join(e.cfg.StateDir, "reserve") }

// free is what the state folder's file system has left.
func (e *Engine) free() (uint64, error) {
	d, err := fsop.OpenRoot(e.cfg.StateDir)
	if err != nil {
		return 0, err
	}
	info, err := d.Statfs()
	return info.FreeBytes, errors.Join(err, d.Close())
}

// setAside makes the reserve, where there is none and room for it. It is a
// precaution: without it a plan is made as well.
func (e *Engine) setAside() {
	if _, err := os.Lstat(e.reservePath()); err == nil {
		return
	}
	if free, err := e.free(); err != nil || free < reserveBytes+reserveAbove {
		return
	}
	// Not zeros, which some file systems do not store. Written under another name:
	// a reserve is whole, or there is none.
	raw := make([]byte, reserveBytes)
	x := uint32(1)
	for i := range raw {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		raw[i] = byte(x)
	}
	_ = writeDurable(e.reservePath(), raw)
}

// giveReserve frees the reserve, where the file system has less than that left.
func (e *Engine) giveReserve() {
	if free, err := e.free(); err == nil && free < reserveBytes {
		_ = os.Remove(e.reservePath())
	}
}
