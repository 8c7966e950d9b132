package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// InsideMain is the probe inside: it reads targets from standard input, tries
// them, and writes findings to standard output. It returns the exit code.
func InsideMain(ctx context.Context) int {
	inherited := inheritedDescriptors() // before anything of ours opens one
	var t targets
	line, err := bufio.NewReader(os.Stdin).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &t)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe: read targets:", err)
		return 2
	}
	in := &inside{ctx: ctx, t: t, inherited: inherited}
	for _, l := range []struct {
		name string
		try  func()
	}{
		{LineRealTree, in.realTree},
		{LineOutside, in.outside},
		{LineHome, in.home},
		{LineState, in.state},
		{LineDescriptors, in.descriptors},
		{LineSockets, in.sockets},
		{LineAbstract, in.abstract},
		{LineTCP, in.tcp},
		{LineUDP, in.udp},
		{LineIPv6, in.ipv6},
		{LineRaw, in.raw},
		{LineProcesses, in.processes},
		{LineSignal, in.signal},
		{LineCapability, in.capability},
		{LineMount, in.mount},
		{LineUserns, in.userns},
		{LineTerminal, in.terminal},
		{LineWorkspace, in.workspace},
		{LinePrivate, in.private},
		{LineShell, in.shell},
		{LineLoopback, in.loopback},
	} {
		if slices.Contains(t.Lines, l.name) {
			in.line = l.name
			l.try()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(in.found); err != nil {
		fmt.Fprintln(os.Stderr, "probe: report:", err)
		return 2
	}
	// The host looks for what was made and then closes our input.
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, p := range in.made {
		os.Remove(p)
	}
	return 0
}

// childArg makes the probe a child that does nothing: started in a new user
// namespace, or with nothing special as a control.
const childArg = "ambit-probe-child"

// Reexec does the work of the probe inside if argv names it.
func Reexec(argv []string) (handled bool, exitCode int) {
	if len(argv) != 2 {
		return false, 0
	}
	switch argv[1] {
	case ArgInside:
		return true, InsideMain(context.Background())
	case childArg:
		return true, 0
	}
	return false, 0
}

// inside is the probe's state.
type inside struct {
	ctx       context.Context //nolint:containedctx // one run of one program; every attempt belongs to it
	t         targets
	line      string
	inherited []string
	found     []finding
	made      []string // to be removed
}

// report records an attempt: err nil means that it got through.
func (in *inside) report(target, made string, err error) {
	f := finding{Line: in.line, Target: target, Made: made, Done: err == nil, Got: "got through"}
	if err != nil {
		f.Got = errText(err)
	}
	in.found = append(in.found, f)
}

// errText names the error number when there is one: that is what tells mechanisms apart.
func errText(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if n := unix.ErrnoName(errno); n != "" {
			return n
		}
	}
	return err.Error()
}

// make tries to make a file in dir and leaves it for the host to look for.
func (in *inside) make(dir string) {
	p := filepath.Join(dir, ".ambit-proof-"+in.t.Nonce)
	f, err := os.OpenFile(p, os.O_CREATE|os.O_EXCL|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
	if err == nil {
		f.Close()
		in.made = append(in.made, p)
	}
	in.report(dir, p, err)
}

// realTree writes at every path that leads or could lead to the real tree. Where
// a sandbox lies at the original path this gets through, and must stay inside.
func (in *inside) realTree() {
	for _, d := range in.t.Real {
		in.write(d)
		for _, via := range viaProc {
			in.write(via + d)
		}
	}
}

// write appends to the proof file in dir if it is there, else makes it.
func (in *inside) write(dir string) {
	p := dir + "/.ambit-proof-" + in.t.Nonce
	f, err := os.OpenFile(p, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString("x")
		f.Close()
		in.made = append(in.made, p)
	}
	in.report(dir, p, err)
}

func (in *inside) outside() {
	for _, d := range in.t.Outside {
		in.make(d)
	}
}

// read opens each object's path, by itself and through proc, and compares what
// is there with the object.
func (in *inside) read(objects []object) {
	for _, o := range objects {
		for _, via := range append([]string{""}, viaProc...) {
			in.report(via+o.Path, "", readObject(via+o.Path, o))
		}
	}
}

// readObject is nil when the object can be read at the path.
func readObject(p string, o object) error {
	f, err := os.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if st.Ino != o.Ino || uint64(st.Dev) != o.Dev {
		return errors.New("another file is there")
	}
	return nil
}

func (in *inside) home()  { in.read(in.t.Home) }
func (in *inside) state() { in.read(in.t.State) }

// inheritedDescriptors lists what is open besides the standard streams and what
// the Go runtime opens for itself.
func inheritedDescriptors() []string {
	var found []string
	for fd := 3; fd < 1024; fd++ {
		to, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err == nil && !strings.HasPrefix(to, "anon_inode:") {
			found = append(found, fmt.Sprintf("%d %s", fd, to))
		}
	}
	return found
}

func (in *inside) descriptors() {
	if len(in.inherited) == 0 {
		in.report("", "", errors.New("none is open"))
	}
	for _, d := range in.inherited {
		in.report(d, "", nil)
	}
}

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

// processes looks for anybody but itself and its pid 1.
func (in *inside) processes() {
	ds, err := os.ReadDir("/proc")
	if err != nil {
		in.report("/proc", "", err)
		return
	}
	seen := 0
	for _, d := range ds {
		if pid, err := strconv.Atoi(d.Name()); err == nil && pid != 1 && pid != os.Getpid() {
			seen++
			in.report("process "+d.Name(), "", nil)
		}
		if seen > 3 {
			break
		}
	}
	if seen == 0 {
		in.report("/proc", "", errors.New("none shows"))
	}
	// The one process that shows is ours, and tells nothing.
	for _, f := range []string{"environ", "mem", "maps"} {
		fd, err := unix.Open("/proc/1/"+f, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
		}
		in.report("/proc/1/"+f, "", err)
	}
}

// maxSignals bounds how many processes are tried.
const maxSignals = 50

// signal asks for the right to signal the process of the host that runs the
// proof, and whoever else shows. Its own keeper may be signalled: that is pid 1 of
// its namespace, or without one its parent.
func (in *inside) signal() {
	pids := []int{in.t.PID}
	keeper := os.Getppid()
	if in.t.Namespaced {
		keeper = 1
	}
	ds, err := os.ReadDir("/proc")
	if err != nil {
		in.report("/proc", "", err)
	}
	for _, d := range ds {
		pid, err := strconv.Atoi(d.Name())
		if err == nil && pid != os.Getpid() && pid != keeper && len(pids) < maxSignals {
			pids = append(pids, pid)
		}
	}
	for _, pid := range pids {
		in.report("pid "+strconv.Itoa(pid), "", unix.Kill(pid, 0))
		fd, err := unix.PidfdOpen(pid, 0)
		if err == nil {
			err = unix.PidfdSendSignal(fd, 0, nil, 0)
			unix.Close(fd)
		}
		in.report("pidfd of "+strconv.Itoa(pid), "", err)
	}
}

func (in *inside) capability() {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		in.report("/proc/self/status", "", nil) // not to be seen is not proved
		return
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		k, v, _ := strings.Cut(line, ":")
		v = strings.TrimSpace(v)
		switch k {
		case "CapInh", "CapPrm", "CapEff", "CapAmb":
			if strings.Trim(v, "0") != "" {
				in.report(k+" "+v, "", nil)
			} else {
				in.report(k, "", errors.New("empty"))
			}
		case "NoNewPrivs":
			if v != "1" {
				in.report("no_new_privs is off", "", nil)
			} else {
				in.report(k, "", errors.New("set"))
			}
		}
	}
	in.report("chroot", "", unix.Chroot("/"))
	// To what it is already: where the attempt gets through nothing shall change.
	var u unix.Utsname
	err = unix.Uname(&u)
	if err == nil {
		err = unix.Sethostname([]byte(unix.ByteSliceToString(u.Nodename[:])))
	}
	in.report("sethostname", "", err)
}

func (in *inside) mount() {
	dir := in.t.TempDir
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "")
	if err == nil {
		_ = unix.Unmount(dir, unix.MNT_DETACH)
	}
	in.report("mount", "", err)
	fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	in.report("fsopen", "", err)
	// No mount point: who may unmount is told EINVAL.
	if err = unix.Unmount("/usr/bin", 0); errors.Is(err, unix.EINVAL) {
		err = nil
	}
	in.report("umount", "", err)
}

func (in *inside) userns() {
	c := exec.CommandContext(in.ctx, "/proc/self/exe", childArg)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	in.report("clone", "", c.Run())
}

// terminal asks for terminal input injection on something that is no terminal.
// Only the filter answers EPERM then; without it the answer is ENOTTY. High bits,
// which the kernel ignores, must not get past it.
func (in *inside) terminal() {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		in.report("pipe", "", nil)
		return
	}
	const tiocLinux = 0x541c
	for _, req := range []uint64{unix.TIOCSTI, tiocLinux, unix.TIOCSTI | 1<<32, tiocLinux | 1<<32} {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(pipe[0]), uintptr(req), 0)
		if errno == unix.EPERM {
			in.report(fmt.Sprintf("ioctl %#x", req), "", errno)
		} else {
			in.report(fmt.Sprintf("ioctl %#x answered %s", req, errText(errno)), "", nil)
		}
	}
}

// workspace makes, renames and removes a file where commands work.
func (in *inside) workspace() {
	for _, d := range in.t.Writable {
		in.report(d, "", useFolder(d, in.t.Nonce))
	}
}

func (in *inside) private() {
	for _, d := range []string{in.t.HomeDir, in.t.TempDir} {
		in.report(d, "", useFolder(d, in.t.Nonce))
	}
}

// useFolder does what programs do with files.
func useFolder(dir, nonce string) error {
	sub := filepath.Join(dir, ".ambit-proof-dir-"+nonce)
	if err := os.Mkdir(sub, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(sub)
	f := filepath.Join(sub, "f")
	if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
		return err
	}
	if err := os.Rename(f, filepath.Join(dir, ".ambit-proof-file-"+nonce)); err != nil {
		return err
	}
	return os.Remove(filepath.Join(dir, ".ambit-proof-file-"+nonce))
}

func (in *inside) shell() {
	out, err := exec.CommandContext(in.ctx, "/bin/sh", "-c", "echo $((6*7))").Output()
	if err == nil && strings.TrimSpace(string(out)) != "42" {
		err = fmt.Errorf("it answered %q", out)
	}
	in.report("/bin/sh", "", err)
}

func (in *inside) loopback() {
	l, err := new(net.ListenConfig).Listen(in.ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		in.report("listen", "", err)
		return
	}
	defer l.Close()
	c, err := dialer.DialContext(in.ctx, "tcp4", l.Addr().String())
	if err == nil {
		c.Close()
	}
	in.report(l.Addr().Network(), "", err)
}
