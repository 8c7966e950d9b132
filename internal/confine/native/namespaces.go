//go:build linux

package native

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/confine/privilege"
	"golang.org/x/sys/unix"
)

// attr says how the inner process is cloned: into namespaces of everything, with
// the caller's own ids.
func attr(c holder.Config) (*syscall.SysProcAttr, error) {
	a := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		// An identity map would lose the new namespace's capabilities at exec. All of
		// them: an overlay keeps its mounter's credentials for every later copy-up.
		AmbientCaps: privilege.All(),
	}
	if !c.HostNet {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	uid, gid := os.Geteuid(), os.Getegid()
	if uid != 0 {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		return a, nil
	}
	var err error
	if a.UidMappings, err = wholeMap("/proc/self/uid_map"); err != nil {
		return nil, err
	}
	if a.GidMappings, err = wholeMap("/proc/self/gid_map"); err != nil {
		return nil, err
	}
	a.GidMappingsEnableSetgroups = true
	return a, nil
}

// wholeMap maps every id that exists in our own namespace to itself: root over a
// tree with many owners must be able to copy up any of them.
func wholeMap(file string) ([]syscall.SysProcIDMap, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read id map: %w", err)
	}
	defer f.Close()
	var m []syscall.SysProcIDMap
	for s := bufio.NewScanner(f); s.Scan(); {
		var inside, outside, size int
		if _, err := fmt.Sscan(s.Text(), &inside, &outside, &size); err != nil {
			return nil, fmt.Errorf("read id map: %w", err)
		}
		m = append(m, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
	}
	return m, nil
}

// forbidUserNamespaces keeps commands from making user namespaces, in which they
// would have every capability. The limit is this namespace's own.
func forbidUserNamespaces(sabotage []string) error {
	if slices.Contains(sabotage, weakUserns) {
		return nil
	}
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		return fmt.Errorf("forbid nested user namespaces: %w", err)
	}
	return nil
}

// raiseLoopback brings up the network namespace's only device.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("raise loopback: %w", err)
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return fmt.Errorf("raise loopback: %w", err)
	}
	return nil
}

// Reexec does the work of the native confinement's process that argv names, if it
// names one.
func Reexec(argv []string) (handled bool, exitCode int) {
	if len(argv) == 2 && argv[1] == ArgCheck {
		return true, CheckMain()
	}
	return holder.Reexec(argv, Stages())
}

// Stages are what the holder's processes do for the native confinement.
func Stages() holder.Stages {
	return holder.Stages{Attr: attr, Build: build, EntryAttr: entryAttr, Prepare: prepare, Seal: seal}
}
