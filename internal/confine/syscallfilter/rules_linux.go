package syscallfilter

import "golang.org/x/sys/unix"

// newNamespaces are the clone flags that make namespaces. CLONE_NEWTIME is no
// flag of clone; unshare and clone3, which know it, are refused altogether.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// base is what no confined command needs and every rung refuses.
func base() []Rule {
	var rules []Rule
	for _, c := range []uintptr{
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	} {
		rules = append(rules, Rule{Call: c, Errno: unix.EPERM})
	}
	for _, c := range []uintptr{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER} {
		// clone3's flags lie in memory, where a filter cannot look; programs fall
		// back to clone. io_uring does what is asked of it outside any filter.
		rules = append(rules, Rule{Call: c, Errno: unix.ENOSYS})
	}
	return append(rules,
		Rule{Call: unix.SYS_CLONE, Test: AnyBits, Arg: 0, Value: newNamespaces, Errno: unix.EPERM},
		Rule{Call: unix.SYS_IOCTL, Test: Equal, Arg: 1, Value: unix.TIOCSTI, Errno: unix.EPERM},
		Rule{Call: unix.SYS_IOCTL, Test: Equal, Arg: 1, Value: tiocLinux, Errno: unix.EPERM},
	)
}

// tiocLinux is TIOCLINUX of <linux/tiocl.h>: pastes into a console.
const tiocLinux = 0x541c

// families are the kinds of sockets that programs use and a network namespace
// isolates. Others are refused: vsock leads to the hypervisor past any namespace,
// the rest is kernel code that nobody needs.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// Namespaced is the filter of the native confinement.
func Namespaced() []Rule {
	return append(base(), Rule{Call: unix.SYS_SOCKET, Test: NoneOf, Arg: 0, Values: families, Errno: unix.EAFNOSUPPORT})
}

// Reach is what a filter leaves open where no namespace isolates.
type Reach struct {
	Network  bool // sockets of every family
	Connect  bool // connecting a unix socket; without it only pairs and inherited ones speak
	Truncate bool // truncate by path, which Landlock before ABI 3 does not see
}

// Unnamespaced is the filter where no network namespace isolates: unless Network
// is set, sockets of every family but unix are refused. Pairs of sockets stay,
// they reach nobody.
func Unnamespaced(r Reach) []Rule {
	rules := base()
	if !r.Network {
		rules = append(rules, Rule{Call: unix.SYS_SOCKET, Test: NotEqual, Arg: 0, Value: unix.AF_UNIX, Errno: unix.EACCES})
	}
	if !r.Connect {
		rules = append(rules,
			Rule{Call: unix.SYS_CONNECT, Errno: unix.EACCES},
			// A datagram names its receiver without a connection. The type carries flags
			// (SOCK_CLOEXEC) in higher bits; SOCK_STREAM is 1 and SOCK_SEQPACKET 5, so
			// the second bit tells SOCK_DGRAM 2 and SOCK_RAW 3, which is the same for unix.
			Rule{Call: unix.SYS_SOCKET, Test: AnyBits, Arg: 1, Value: unix.SOCK_DGRAM, Errno: unix.EACCES},
		)
	}
	if !r.Truncate {
		rules = append(rules, Rule{Call: unix.SYS_TRUNCATE, Errno: unix.EACCES})
	}
	return rules
}
