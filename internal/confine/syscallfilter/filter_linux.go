package syscallfilter

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Test is how a rule looks at an argument.
type Test int

// Tests of an argument's low 32 bits.
const (
	Always   Test = iota // refuse whatever the arguments
	Equal                // refuse when the argument equals Value
	NotEqual             // refuse when it does not
	AnyBits              // refuse when it has any of Value's bits
	NoneOf               // refuse when it equals none of Values
)

// Rule refuses one system call.
type Rule struct {
	Call  uintptr
	Test  Test
	Arg   int // 0 to 5; not for Always
	Value uint32
	// Values are for NoneOf: at least one, at most 250.
	Values []uint32
	Errno  unix.Errno
}

// Offsets in struct seccomp_data (include/uapi/linux/seccomp.h).
const (
	offCall = 0
	offArch = 4
	offArgs = 16
)

// x32Bit marks x32 calls, which share amd64's architecture number.
const x32Bit = 0x40000000

// audit is the architecture's number in seccomp_data.
var audit = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// Assemble turns rules into a program.
func Assemble(rules []Rule) ([]unix.SockFilter, error) {
	arch, ok := audit[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("no system call filter for architecture %s", runtime.GOARCH)
	}
	errno := func(e unix.Errno) unix.SockFilter { return ret(unix.SECCOMP_RET_ERRNO | uint32(e)) }
	p := []unix.SockFilter{
		load(offArch),
		jump(unix.BPF_JEQ, arch, 1, 0),
		errno(unix.ENOSYS),
		load(offCall),
	}
	if runtime.GOARCH == "amd64" {
		p = append(p, jump(unix.BPF_JGE, x32Bit, 0, 1), errno(unix.ENOSYS))
	}
	for _, r := range rules {
		if r.Arg < 0 || r.Arg > 5 {
			return nil, fmt.Errorf("rule for call %d: no argument %d", r.Call, r.Arg)
		}
		if r.Test == Always {
			p = append(p, jump(unix.BPF_JEQ, uint32(r.Call), 0, 1), errno(r.Errno))
			continue
		}
		tests := 1
		if r.Test == NoneOf {
			tests = len(r.Values)
		}
		if tests < 1 || tests > 250 {
			return nil, fmt.Errorf("rule for call %d: %d values", r.Call, tests)
		}
		// Low half of a little-endian 64-bit argument.
		p = append(p, jump(unix.BPF_JEQ, uint32(r.Call), 0, uint8(tests+3)), load(offArgs+8*uint32(r.Arg)))
		switch r.Test {
		case NoneOf:
			for i, v := range r.Values { // on a match pass the remaining tests and the refusal
				p = append(p, jump(unix.BPF_JEQ, v, uint8(tests-i), 0))
			}
		case Equal:
			p = append(p, jump(unix.BPF_JEQ, r.Value, 0, 1))
		case NotEqual:
			p = append(p, jump(unix.BPF_JEQ, r.Value, 1, 0))
		case AnyBits:
			p = append(p, jump(unix.BPF_JSET, r.Value, 0, 1))
		default:
			return nil, fmt.Errorf("rule for call %d: unknown test %d", r.Call, r.Test)
		}
		p = append(p, errno(r.Errno), load(offCall))
	}
	return append(p, ret(unix.SECCOMP_RET_ALLOW)), nil
}

func load(off uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
}

func jump(cond uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | cond | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func ret(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }

// Install puts the rules on the calling thread and what it forks. The thread
// must be locked and have no_new_privs.
func Install(rules []Rule) error {
	p, err := Assemble(rules)
	if err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("install system call filter: %w", errors.Join(errno))
	}
	return nil
}
