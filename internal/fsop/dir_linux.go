package fsop

import (
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// Dir is a held directory. All its methods are safe for concurrent use, Close
// included: a call under way keeps the descriptor alive until it returns. A Dir
// that is never closed keeps its descriptor for the life of the process.
type Dir struct {
	fd        int // O_PATH unless it came from FromFD
	name      string
	resolve   uint64
	intercept Intercept
	closed    atomic.Bool
	refs      atomic.Int64 // calls under way, plus one while not closed
}

func newDir(fd int, name string, resolve uint64, intercept Intercept) *Dir {
	d := &Dir{fd: fd, name: name, resolve: resolve, intercept: intercept}
	d.refs.Store(1)
	return d
}

// OpenRoot opens a directory by the absolute path that the operator named. Links
// on the way are followed, this once; everything below is looked up beneath it.
func OpenRoot(abs string, opts ...RootOption) (*Dir, error) {
	if !filepath.IsAbs(abs) {
		return nil, notARoot(abs)
	}
	var o rootOptions
	for _, opt := range opts {
		opt(&o)
	}
	if o.intercept != nil {
		if err := o.intercept("openroot", abs); err != nil {
			return nil, fail("open directory", abs, err)
		}
	}
	fd, err := retryIntr(func() (int, error) {
		return unix.Open(abs, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, fail("open directory", abs, err)
	}
	resolve := uint64(unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS)
	if o.noXdev {
		resolve |= unix.RESOLVE_NO_XDEV
	}
	return newDir(fd, filepath.Clean(abs), resolve, o.intercept), nil
}

// FromFD makes a Dir of an open descriptor, which it owns from then on (also
// when it fails). The descriptor must be a directory's. name is used in messages.
func FromFD(fd int, name string, opts ...RootOption) (*Dir, error) {
	var o rootOptions
	for _, opt := range opts {
		opt(&o)
	}
	info, err := statFD(fd)
	if err == nil && info.Kind != KindDir {
		err = unix.ENOTDIR
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fail("hold directory", name, err)
	}
	unix.CloseOnExec(fd)
	resolve := uint64(unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS)
	if o.noXdev {
		resolve |= unix.RESOLVE_NO_XDEV
	}
	return newDir(fd, name, resolve, o.intercept), nil
}

// Close lets the directory go. It may be called more than once.
func (d *Dir) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	d.release()
	return nil
}

func (d *Dir) acquire() error {
	for {
		n := d.refs.Load()
		if n <= 0 || d.closed.Load() {
			return &fault.Error{Code: fault.Internal, Op: "use directory", Message: show(d.name), Cause: os.ErrClosed}
		}
		if d.refs.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

func (d *Dir) release() {
	if d.refs.Add(-1) == 0 {
		_ = unix.Close(d.fd)
	}
}

// Fd returns the descriptor, which stays the Dir's own. It is opened with O_PATH:
// good as a base for *at calls and for /proc/self/fd, not for reading.
func (d *Dir) Fd() int { return d.fd }

// Name is the absolute spelling used in messages.
func (d *Dir) Name() string { return d.name }

// Dup returns a second, independent hold on the same directory.
func (d *Dir) Dup() (*Dir, error) {
	if err := d.acquire(); err != nil {
		return nil, err
	}
	defer d.release()
	fd, err := unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fail("duplicate directory", d.name, err)
	}
	return newDir(fd, d.name, d.resolve, d.intercept), nil
}

// OpenDir holds a directory below; "." gives another hold on the same one.
func (d *Dir) OpenDir(rel string) (*Dir, error) {
	fd, err := d.open("open directory", rel, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	return newDir(fd, d.abs(rel), d.resolve, d.intercept), nil
}

// abs spells a path below for messages.
func (d *Dir) abs(rel string) string {
	if rel == "." {
		return d.name
	}
	return d.name + "/" + rel
}

// before gives an Intercept its say.
func (d *Dir) before(op, rel string) error {
	if d.intercept == nil {
		return nil
	}
	return d.intercept(op, d.abs(rel))
}

// procPath spells an open descriptor so that a call that takes only a path acts
// on exactly that object.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
