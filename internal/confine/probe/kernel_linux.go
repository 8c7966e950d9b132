package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

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
