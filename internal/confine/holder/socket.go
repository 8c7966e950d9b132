//go:build linux

package holder

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// A unix socket's path holds at most 107 bytes, and state folders are longer
// than that sooner than one thinks. So both sides name the socket relative to a
// descriptor of its folder.
func viaDir(dir *os.File, name string) string {
	return "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + name
}

// listen makes the holder's socket in dir in place of one a dead holder left.
func listen(dir string) (*net.UnixListener, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open holder folder: %w", err)
	}
	defer d.Close()
	if err := os.Remove(filepath.Join(dir, socketName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove old socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: viaDir(d, socketName), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l.SetUnlinkOnClose(false)
	return l, nil
}

// dial connects to the holder's socket in dir and checks that the peer has our uid.
func dial(dir string) (*Conn, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open holder folder: %w", err)
	}
	defer d.Close()
	u, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: viaDir(d, socketName), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("connect to holder: %w", err)
	}
	c := newConn(u)
	uid, err := c.peerUID()
	if err == nil && uid != os.Geteuid() {
		err = fmt.Errorf("holder belongs to uid %d, not %d", uid, os.Geteuid())
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
