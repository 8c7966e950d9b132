//go:build linux

package holder

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// maxFrame bounds one message. The kernel's own limit for arguments and
// environment together (a quarter of the stack limit, 2 MiB by default) is the
// largest thing a message carries.
const maxFrame = 8 << 20

// maxFiles bounds the descriptors that travel with one message: the control
// socket and three standard streams of an entry.
const maxFiles = 4

// errFrame is what a peer gets whose bytes are no frame.
var errFrame = errors.New("malformed frame")

// Conn carries JSON messages with descriptors over a unix stream socket. One
// frame is four bytes of length, big-endian, then the message; descriptors ride
// on the first byte. Send and Recv may be called concurrently with each other.
type Conn struct {
	sock *net.UnixConn
	send sync.Mutex
	recv sync.Mutex
}

// newConn takes over a connected unix stream socket.
func newConn(sock *net.UnixConn) *Conn { return &Conn{sock: sock} }

// connFromFile takes over a socket descriptor; f is closed.
func connFromFile(f *os.File) (*Conn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("adopt socket: %w", err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("adopt socket: %s is no unix socket", c.LocalAddr().Network())
	}
	return newConn(u), nil
}

// pair makes two connected ends: one to use here, one to pass on.
func pair() (*Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make socket pair: %w", err)
	}
	far := os.NewFile(uintptr(fds[1]), "socket")
	near, err := connFromFile(os.NewFile(uintptr(fds[0]), "socket"))
	if err != nil {
		far.Close()
		return nil, nil, err
	}
	return near, far, nil
}

// Close closes the socket; a blocked Send or Recv returns.
func (c *Conn) Close() error { return c.sock.Close() }

// Send writes one message with the given descriptors, which stay the caller's.
func (c *Conn) Send(v any, files ...*os.File) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	if len(body) > maxFrame {
		return fmt.Errorf("message of %d bytes is over the limit of %d", len(body), maxFrame)
	}
	if len(files) > maxFiles {
		return fmt.Errorf("%d descriptors in one message, at most %d", len(files), maxFiles)
	}
	frame := make([]byte, 4+len(body))
	binary.BigEndian.PutUint32(frame, uint32(len(body)))
	copy(frame[4:], body)

	c.send.Lock()
	defer c.send.Unlock()
	n := 0
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		n, _, err = c.sock.WriteMsgUnix(frame, unix.UnixRights(fds...), nil)
		if err != nil {
			return fmt.Errorf("send message: %w", err)
		}
	}
	if n < len(frame) {
		if _, err := c.sock.Write(frame[n:]); err != nil {
			return fmt.Errorf("send message: %w", err)
		}
	}
	return nil
}

// Recv reads one message into v and returns its descriptors, which are the
// caller's to close. At the peer's orderly end the error is io.EOF.
func (c *Conn) Recv(v any) ([]*os.File, error) {
	c.recv.Lock()
	defer c.recv.Unlock()
	var head [4]byte
	oob := make([]byte, unix.CmsgSpace(maxFiles*4))
	n, oobn, flags, _, err := c.sock.ReadMsgUnix(head[:], oob)
	files := receivedFiles(oob[:oobn])
	fail := func(err error) ([]*os.File, error) {
		closeAll(files)
		return nil, err
	}
	switch {
	case err != nil:
		return fail(err)
	case n == 0:
		return fail(io.EOF)
	case flags&unix.MSG_CTRUNC != 0:
		return fail(fmt.Errorf("%w: more than %d descriptors", errFrame, maxFiles))
	}
	if _, err := io.ReadFull(c.sock, head[n:]); err != nil {
		return fail(fmt.Errorf("%w: cut short: %w", errFrame, err))
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return fail(fmt.Errorf("%w: %d bytes is over the limit of %d", errFrame, size, maxFrame))
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(c.sock, body); err != nil {
		return fail(fmt.Errorf("%w: cut short: %w", errFrame, err))
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fail(fmt.Errorf("%w: %w", errFrame, err))
	}
	return files, nil
}

// receivedFiles unpacks the descriptors of a control message.
func receivedFiles(oob []byte) []*os.File {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var files []*os.File
	for _, m := range msgs {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files
}

// closeAll closes every file that is set.
func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// peerUID returns the uid of the process that connected.
func (c *Conn) peerUID() (int, error) {
	raw, err := c.sock.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("read peer: %w", err)
	}
	uid := -1
	var serr error
	if err := raw.Control(func(fd uintptr) {
		cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			serr = err
			return
		}
		uid = int(cred.Uid)
	}); err != nil {
		return -1, fmt.Errorf("read peer: %w", err)
	}
	if serr != nil {
		return -1, fmt.Errorf("read peer: %w", serr)
	}
	return uid, nil
}
