package probe

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// connectUnix tries every type of unix socket. A wrong type means that somebody
// listens there and could be reached.
func connectUnix(name string) error {
	var last error
	for _, typ := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET} {
		fd, err := unix.Socket(unix.AF_UNIX, typ|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			last = err
			continue
		}
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: name})
		unix.Close(fd)
		if err == nil || errors.Is(err, unix.EPROTOTYPE) || errors.Is(err, unix.EAGAIN) {
			return nil
		}
		last = err
	}
	return last
}

func (in *inside) sockets() {
	for _, p := range in.t.Sockets {
		in.report(p, "", connectLong(p))
	}
}

// connectLong reaches a socket whose path is longer than an address holds.
func connectLong(p string) error {
	if len(p) < 100 {
		return connectUnix(p)
	}
	dir, err := os.Open(filepath.Dir(p))
	if err != nil {
		return err
	}
	defer dir.Close()
	return connectUnix(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(p)))
}

func (in *inside) abstract() {
	for _, n := range in.t.Abstract {
		in.report("@"+n, "", connectUnix("@"+n))
	}
}

// dialer gives up soon: nobody far away is asked.
var dialer = net.Dialer{Timeout: 2 * time.Second}

func (in *inside) dial(network, addr string) {
	if addr == "" {
		return
	}
	c, err := dialer.DialContext(in.ctx, network, addr)
	if err == nil {
		c.Close()
	}
	in.report(addr, "", err)
}

// beyond are addresses for documentation (RFC 5737, RFC 3849), which nobody has:
// without a network they are unreachable at once.
const (
	beyond4 = "192.0.2.1"
	beyond6 = "2001:db8::1"
)

// unreachable tries to leave the machine by a datagram, which needs only a route.
func (in *inside) unreachable(network, host string) {
	c, err := dialer.DialContext(in.ctx, network, net.JoinHostPort(host, "9"))
	if err == nil {
		c.Close()
		err = nil
	}
	in.report(host, "", err)
}

func (in *inside) tcp() {
	in.dial("tcp4", in.t.TCP)
	// Multipath TCP is another protocol to the kernel, and escapes rules on TCP.
	d := dialer
	d.SetMultipathTCP(true)
	if in.t.TCP != "" {
		c, err := d.DialContext(in.ctx, "tcp4", in.t.TCP)
		if err == nil {
			c.Close()
		}
		in.report(in.t.TCP+" (multipath)", "", err)
	}
}

func (in *inside) udp() {
	// On an own loopback sending gets through, to nobody: what counts is whether
	// the host receives it, which the host says.
	if in.t.UDP != "" {
		c, err := dialer.DialContext(in.ctx, "udp4", in.t.UDP)
		if err == nil {
			_, _ = c.Write([]byte(in.t.Nonce))
			c.Close()
			err = errors.New("the host received nothing")
		}
		in.report(in.t.UDP, "", err)
	}
	in.unreachable("udp4", beyond4)
}

func (in *inside) ipv6() {
	in.dial("tcp6", in.t.TCP6)
	in.unreachable("udp6", beyond6)
}

// raw tries the kinds of sockets that nothing confined needs and that lead past a
// network namespace (vsock, to the hypervisor) or speak for the machine.
func (in *inside) raw() {
	for _, s := range []struct {
		name           string
		family, typ, p int
	}{
		{"packet", unix.AF_PACKET, unix.SOCK_RAW, 0},
		{"raw IP", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
		{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0},
	} {
		fd, err := unix.Socket(s.family, s.typ|unix.SOCK_CLOEXEC, s.p)
		if err == nil {
			unix.Close(fd)
		}
		in.report(s.name, "", err)
	}
}
