package syscallfilter

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// call is a system call as a filter sees it.
type call struct {
	arch uint32
	nr   uint32
	args [6]uint64
}

// eval runs a program as the kernel does (classic BPF over struct seccomp_data)
// and returns the error number it answers, 0 for allow.
func eval(t *testing.T, p []unix.SockFilter, c call) unix.Errno {
	t.Helper()
	data := binary.LittleEndian.AppendUint32(nil, c.nr)
	data = binary.LittleEndian.AppendUint32(data, c.arch)
	data = binary.LittleEndian.AppendUint64(data, 0)
	for _, a := range c.args {
		data = binary.LittleEndian.AppendUint64(data, a)
	}
	var a uint32
	for pc := 0; pc < len(p); pc++ {
		i := p[pc]
		skip := func(yes bool) {
			if yes {
				pc += int(i.Jt)
			} else {
				pc += int(i.Jf)
			}
		}
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = binary.LittleEndian.Uint32(data[i.K:])
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			skip(a == i.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			skip(a >= i.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			skip(a&i.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			switch i.K & unix.SECCOMP_RET_ACTION_FULL {
			case unix.SECCOMP_RET_ALLOW:
				return 0
			case unix.SECCOMP_RET_ERRNO:
				return unix.Errno(i.K & unix.SECCOMP_RET_DATA)
			}
			t.Fatalf("unknown action %#x", i.K)
		default:
			t.Fatalf("unknown instruction %+v", i)
		}
	}
	t.Fatal("the program runs off its end")
	return 0
}

func TestRules(t *testing.T) {
	t.Parallel()
	native, ok := audit[runtime.GOARCH]
	if !ok {
		t.Skip("no filter for " + runtime.GOARCH)
	}
	const high = 1 << 32 // bits the kernel does not look at
	none, connect := Unnamespaced(Reach{}), Unnamespaced(Reach{Connect: true, Truncate: true})
	all := Unnamespaced(Reach{Network: true, Connect: true, Truncate: true})
	for _, c := range []struct {
		name  string
		rules []Rule
		call  call
		want  unix.Errno
	}{
		{"read", Namespaced(), call{nr: unix.SYS_READ}, 0},
		{"mount", Namespaced(), call{nr: unix.SYS_MOUNT}, unix.EPERM},
		{"clone3", Namespaced(), call{nr: unix.SYS_CLONE3}, unix.ENOSYS},
		{"clone of a thread", Namespaced(), call{nr: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD}}, 0},
		{"clone of a user namespace", Namespaced(), call{nr: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}}, unix.EPERM},
		{"clone of one, high bits", Namespaced(), call{nr: unix.SYS_CLONE, args: [6]uint64{high | unix.CLONE_NEWNS}}, unix.EPERM},
		{"TIOCSTI", Namespaced(), call{nr: unix.SYS_IOCTL, args: [6]uint64{0, unix.TIOCSTI}}, unix.EPERM},
		{"TIOCSTI, high bits", Namespaced(), call{nr: unix.SYS_IOCTL, args: [6]uint64{0, high | unix.TIOCSTI}}, unix.EPERM},
		{"TIOCLINUX", Namespaced(), call{nr: unix.SYS_IOCTL, args: [6]uint64{0, tiocLinux}}, unix.EPERM},
		{"TCGETS", Namespaced(), call{nr: unix.SYS_IOCTL, args: [6]uint64{0, unix.TCGETS}}, 0},
		{"TIOCSTI as another argument", Namespaced(), call{nr: unix.SYS_IOCTL, args: [6]uint64{unix.TIOCSTI, 0, unix.TIOCSTI}}, 0},
		{"inet socket", Namespaced(), call{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET, unix.SOCK_STREAM}}, 0},
		{"netlink socket", Namespaced(), call{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW}}, 0},
		{"vsock", Namespaced(), call{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_VSOCK, unix.SOCK_STREAM}}, unix.EAFNOSUPPORT},
		{"vsock, high bits", Namespaced(), call{nr: unix.SYS_SOCKET, args: [6]uint64{high | unix.AF_VSOCK}}, unix.EAFNOSUPPORT},
		{"call after a socket's test", Namespaced(), call{nr: unix.SYS_GETPID}, 0},
		{"unix socket, no network", none, call{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}}, 0},
		{"unix datagrams, no network", none, call{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}}, unix.EACCES},
		{"unix packets, no network", none, call{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK}}, 0},
		{"inet socket, no network", none, call{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET}}, unix.EACCES},
		{"inet socket, high bits", none, call{nr: unix.SYS_SOCKET, args: [6]uint64{high | unix.AF_INET6}}, unix.EACCES},
		{"unix socket that is inet, high bits", none, call{nr: unix.SYS_SOCKET, args: [6]uint64{high | unix.AF_UNIX}}, 0}, // the kernel makes a unix one
		{"socketpair", none, call{nr: unix.SYS_SOCKETPAIR, args: [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM}}, 0},
		{"connect, no network", none, call{nr: unix.SYS_CONNECT}, unix.EACCES},
		{"connect, where the kernel tells sockets apart", connect, call{nr: unix.SYS_CONNECT}, 0},
		{"truncate by path", none, call{nr: unix.SYS_TRUNCATE}, unix.EACCES},
		{"truncate, where the kernel sees it", connect, call{nr: unix.SYS_TRUNCATE}, 0},
		{"ftruncate", none, call{nr: unix.SYS_FTRUNCATE}, 0},
		{"io_uring", none, call{nr: unix.SYS_IO_URING_SETUP}, unix.ENOSYS},
		{"inet socket, the host's network", all, call{nr: unix.SYS_SOCKET, args: [6]uint64{unix.AF_INET}}, 0},
		{"i386", Namespaced(), call{arch: unix.AUDIT_ARCH_I386, nr: unix.SYS_READ}, unix.ENOSYS},
		{"arm", Namespaced(), call{arch: unix.AUDIT_ARCH_ARM, nr: unix.SYS_READ}, unix.ENOSYS},
		{"x32", Namespaced(), call{nr: x32Bit | unix.SYS_READ}, map[bool]unix.Errno{true: unix.ENOSYS}[runtime.GOARCH == "amd64"]},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.call.arch == 0 {
				c.call.arch = native
			}
			p, err := Assemble(c.rules)
			if err != nil {
				t.Fatal(err)
			}
			if got := eval(t, p, c.call); got != c.want {
				t.Errorf("answers %v, want %v", got, c.want)
			}
		})
	}
}

func TestAssembleRefuses(t *testing.T) {
	t.Parallel()
	for _, r := range []Rule{
		{Call: 1, Test: Equal, Arg: 6}, {Call: 1, Test: Equal, Arg: -1}, {Call: 1, Test: NoneOf}, {Call: 1, Test: NoneOf, Values: make([]uint32, 300)}, {Call: 1, Test: 99},
	} {
		if _, err := Assemble([]Rule{r}); err == nil {
			t.Errorf("%+v was assembled", r)
		}
	}
}

// The child installs the filter for real and tries.
const childEnv = "SYSCALLFILTER_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	os.Exit(m.Run())
}

func child() {
	runtime.LockOSThread()
	must := func(what string, err error) {
		if err != nil {
			fmt.Println(what, err)
			os.Exit(1)
		}
	}
	must("no_new_privs", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	must("install", Install(Unnamespaced(Reach{})))
	try := func(what string, f func() error) { fmt.Printf("%s: %v\n", what, f()) }
	try("inet", func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); return err })
	try("unix", func() error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err })
	try("pair", func() error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0); return err })
	try("connect", func() error { return unix.Connect(0, &unix.SockaddrUnix{Name: "/x"}) })
	try("sti", func() error {
		_, _, e := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<32, 0)
		return e
	})
	out, err := exec.Command("/bin/echo", "forked").CombinedOutput()
	fmt.Printf("child: %s%v\n", out, err)
}

func TestInstalledFilterHolds(t *testing.T) {
	t.Parallel()
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), childEnv+"=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"inet: permission denied", "unix: <nil>", "pair: <nil>", "connect: permission denied", "sti: operation not permitted", "child: forked\n<nil>"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
