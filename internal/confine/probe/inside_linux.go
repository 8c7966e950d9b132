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
