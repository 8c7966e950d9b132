package domain

import (
	"errors"
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// LeastABI is the oldest Landlock that is used: ABI 1 refuses every rename
// between folders, which breaks tools (C61).
const LeastABI = 2

// ABIs from which the kernel can tell things apart
// (Documentation/userspace-api/landlock.rst).
const (
	ABITruncate    = 3 // truncation
	ABIIoctl       = 5 // ioctl on devices
	ABIScope       = 6 // signals and abstract sockets that leave the domain
	ABIUnixSockets = 9 // connecting to a unix socket by path
)

// ABI returns the running kernel's Landlock ABI; 0 when it has none or it is
// switched off.
func ABI() (int, error) {
	abi, err := ll.LandlockGetABIVersion()
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("ask for Landlock: %w", err)
	}
	return abi, nil
}

// Paths are what a domain may do with files. All are opened without following
// links; one that is missing, or is a link, is left out.
type Paths struct {
	Read  []string // read, list and execute
	List  []string // folders whose names may be listed, and nothing below read
	Write []string // read and everything else
}

// Rules are a ruleset that Enforce can put on threads, also of another process.
type Rules struct {
	File  *os.File
	Flags uint32 // for landlock_restrict_self
}

// ErrNone says that the kernel has no usable Landlock.
var ErrNone = errors.New("this kernel has no usable Landlock")

// New makes a ruleset. Without a usable Landlock the error is ErrNone; a kernel
// that has it and refuses is another one, so nobody runs without by accident.
func New(p Paths) (*Rules, error) {
	abi, err := ABI()
	if err != nil {
		return nil, err
	}
	if abi < LeastABI {
		return nil, ErrNone
	}
	readDirs, readFiles, err := sortPaths(p.Read)
	if err != nil {
		return nil, err
	}
	writeDirs, writeFiles, err := sortPaths(p.Write)
	if err != nil {
		return nil, err
	}
	listDirs, _, err := sortPaths(p.List)
	if err != nil {
		return nil, err
	}
	// No network rules: they miss UDP and MPTCP, so something else must isolate the
	// network, and loopback shall work.
	cfg := landlock.Config{HandledAccessFS: landlock.V9.HandledAccessFS, Scoped: landlock.V9.Scoped}
	// What went away since it was listed is left out: less is allowed, never more.
	fd, flags, err := cfg.BestEffort().NewRulesetFD(
		landlock.RODirs(readDirs...).IgnoreIfMissing(), landlock.ROFiles(readFiles...).IgnoreIfMissing(),
		landlock.PathAccess(ll.AccessFSReadDir, listDirs...).IgnoreIfMissing(),
		landlock.RWDirs(writeDirs...).WithRefer().WithIoctlDev().WithResolveUnix().IgnoreIfMissing(),
		landlock.RWFiles(writeFiles...).WithIoctlDev().IgnoreIfMissing(),
	)
	if err != nil {
		return nil, fmt.Errorf("make Landlock rules: %w", err)
	}
	if fd < 0 {
		return nil, fmt.Errorf("make Landlock rules: the kernel has Landlock ABI %d but no rule came of it", abi)
	}
	return &Rules{File: os.NewFile(uintptr(fd), "landlock"), Flags: flags}, nil
}

// sortPaths tells folders from files.
func sortPaths(paths []string) (dirs, files []string, err error) {
	for _, p := range paths {
		fd, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{
			Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
		if err != nil {
			continue
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		unix.Close(fd)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("make Landlock rules: %s: %w", p, err)
		case st.Mode&unix.S_IFMT == unix.S_IFDIR:
			dirs = append(dirs, p)
		default:
			files = append(files, p)
		}
	}
	return dirs, files, nil
}

// Enforce puts the rules on the calling thread, which must be locked, and on
// what it forks. It sets no_new_privs, which the kernel demands.
func Enforce(ruleset *os.File, flags uint32) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := ll.LandlockRestrictSelf(int(ruleset.Fd()), flags); err != nil {
		return fmt.Errorf("enforce Landlock rules: %w", err)
	}
	return nil
}
