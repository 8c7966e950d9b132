//go:build linux

package holder

import (
	"errors"
	"io"
	"os"

	"github.com/ambit-run/ambit/engine"
	"golang.org/x/sys/unix"
)

// chunk is how much of a stream is held in memory at a time.
const chunk = 32 << 10

// streamPipe makes a pipe with our end ready for Go's poller and the other end
// blocking, as programs expect their standard streams. ours is 0 for the read
// end, 1 for the write end; files come in the order read, write.
func streamPipe(ours int) (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(fds[ours], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "stream"), os.NewFile(uintptr(fds[1]), "stream"), nil
}

// sink copies what comes out of pipe to a writer.
type sink struct {
	pipe *os.File // non-blocking
	to   engine.Writer
	err  error // the first failed write; read after stop
	done chan struct{}
}

func newSink(pipe *os.File, to engine.Writer) *sink {
	return &sink{pipe: pipe, to: to, done: make(chan struct{})}
}

func (s *sink) start() {
	go func() {
		defer close(s.done)
		buf := make([]byte, chunk)
		for {
			n, err := s.pipe.Read(buf)
			if n > 0 && s.put(buf[:n]) != nil {
				// As in a pipeline whose reader left: the command gets SIGPIPE.
				s.pipe.Close()
				return
			}
			if err != nil {
				return
			}
		}
	}()
}

func (s *sink) put(b []byte) error {
	if _, err := s.to.Write(b); err != nil {
		s.err = err
	}
	return s.err
}

// stop delivers what is still buffered and ends the copying. The tree that wrote
// is gone, but it may have passed its end of the pipe to another entry; so stop
// reads what there is and does not wait for the last writer.
func (s *sink) stop() {
	_ = s.pipe.SetReadDeadline(past)
	<-s.done
	if s.err == nil {
		s.drain()
	}
	s.pipe.Close()
}

func (s *sink) drain() {
	raw, err := s.pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		buf := make([]byte, chunk)
		for left := 1 << 20; left > 0; { // the largest pipe an unprivileged process can make
			n, err := unix.Read(int(fd), buf)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if n <= 0 || err != nil || s.put(buf[:n]) != nil {
				return
			}
			left -= n
		}
	})
}

// feed copies a file into pipe while the command lives. It reads only what is
// there, so that it can stop at any time and take nothing it was not asked for.
type feed struct {
	from *os.File
	pipe *os.File // non-blocking
	wake [2]*os.File
	keep bool // do not close pipe at the end of input
	done chan struct{}
}

func newFeed(from, pipe *os.File) *feed {
	return &feed{from: from, pipe: pipe, done: make(chan struct{})}
}

func (f *feed) start() {
	r, w, err := os.Pipe()
	if err != nil {
		f.pipe.Close()
		close(f.done)
		return
	}
	f.wake = [2]*os.File{r, w}
	go func() {
		defer close(f.done)
		if !f.keep {
			defer f.pipe.Close()
		}
		f.copy()
	}()
}

func (f *feed) copy() {
	raw, err := f.from.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, chunk)
	for {
		var n int
		var rerr error
		// Control, not Read: it leaves the caller's file in the mode it has.
		err := raw.Control(func(fd uintptr) { n, rerr = f.next(int(fd), buf) })
		if err != nil || rerr != nil || n == 0 {
			return
		}
		if _, err := f.pipe.Write(buf[:n]); err != nil {
			return
		}
	}
}

// next reads once from fd; 0 at its end or when told to stop.
func (f *feed) next(fd int, buf []byte) (int, error) {
	for {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(f.wake[0].Fd()), Events: unix.POLLIN}}
		if _, err := unix.Poll(p, -1); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return 0, err
		}
		if p[1].Revents != 0 {
			return 0, io.EOF
		}
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		return n, err
	}
}

// stop ends the copying and waits for it.
func (f *feed) stop() {
	if f.wake[1] != nil {
		f.wake[1].Close() // readable: end of file
		_ = f.pipe.SetWriteDeadline(past)
	}
	<-f.done
	if f.wake[0] != nil {
		f.wake[0].Close()
	}
	if !f.keep {
		f.pipe.Close()
	}
}

// abandon closes what newFeed was given when nothing was started.
func (f *feed) abandon() { f.pipe.Close() }
