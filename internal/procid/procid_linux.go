package procid

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/ambit-run/ambit/fault"
)

const op = "identify process"

// here holds what is the same for the whole life of this process.
var here = sync.OnceValues(func() (ID, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ID{}, noProc(err)
	}
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ID{}, noProc(err)
	}
	return ID{Boot: string(bytes.TrimSpace(boot)), NS: ns}, nil
})

func noProc(err error) error {
	return fault.Wrap(fault.Unavailable, op, err).WithHint("mount proc on /proc")
}

// Self names the calling process. The error has code unavailable where /proc
// cannot be read.
func Self() (ID, error) { return Of(os.Getpid()) }

// Of names the process that has the number now. A number nobody has, or only a
// process that has ended and waits to be reaped, is not_found.
func Of(pid int) (ID, error) {
	id, err := here()
	if err != nil {
		return ID{}, err
	}
	start, running, err := readStat(pid)
	if err != nil {
		return ID{}, err
	}
	if !running {
		return ID{}, fault.New(fault.NotFound, op, "no process has the id %d", pid)
	}
	id.PID, id.Start = pid, start
	return id, nil
}

// Alive reports whether the named process still runs. A zombie has ended. A
// process of another pid namespace of this boot counts as alive (see the
// package's limits). With an error, which has code unavailable, the answer is
// not known and true is returned, so that a caller who drops the error keeps
// its hands off.
func Alive(id ID) (bool, error) {
	h, err := here()
	if err != nil {
		return true, err
	}
	if id.Boot != h.Boot {
		return false, nil
	}
	if id.NS != h.NS {
		return true, nil
	}
	start, running, err := readStat(id.PID)
	if err != nil {
		return true, err
	}
	return running && start == id.Start, nil
}

// readStat returns the start token of a process, and whether it runs. A process
// that does not exist does not run; that is no error.
func readStat(pid int) (start string, running bool, err error) {
	if pid <= 0 {
		return "", false, nil
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		if _, perr := os.Stat("/proc/self/stat"); perr != nil {
			return "", false, noProc(perr)
		}
		return "", false, nil
	}
	if err != nil {
		return "", false, noProc(err)
	}
	return parseStat(b)
}

// parseStat reads the fields after the command name, which is in parentheses
// and may itself hold spaces, newlines and parentheses: the last ')' ends it.
func parseStat(b []byte) (start string, running bool, err error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return "", false, fault.New(fault.Internal, op, "cannot read %q", b)
	}
	f := bytes.Fields(b[i+1:]) // f[0] is field 3
	if len(f) < 20 {
		return "", false, fault.New(fault.Internal, op, "only %d fields in %q", len(f)+2, b)
	}
	threads, err := strconv.Atoi(string(f[17])) // field 20
	if err != nil {
		return "", false, fault.Wrap(fault.Internal, op, fmt.Errorf("read thread count: %w", err))
	}
	switch f[0][0] {
	case 'Z', 'X', 'x':
		// The first thread of a process may have ended while others still run.
		running = threads > 1
	default:
		running = true
	}
	return string(f[19]), running, nil // field 22
}
