package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/view"
	"golang.org/x/sys/unix"
)

// canaries are what is put on the host for attempts to hit.
type canaries struct {
	targets targets
	closers []func()
	made    []string // folders in which an attempt may have left the proof file
	udp     net.PacketConn
}

func (c *canaries) remove() {
	for _, f := range c.closers {
		f()
	}
	for _, d := range c.made {
		os.Remove(filepath.Join(d, ".ambit-proof-"+c.targets.Nonce))
	}
}

// look marks what was made inside and does not show on the host: it is private,
// and no hole. It runs while the probe waits.
func (c *canaries) look(found []finding) {
	for i, f := range found {
		if f.Made == "" || !f.Done {
			continue
		}
		dir := filepath.Dir(f.Made)
		for _, via := range viaProc {
			dir = strings.TrimPrefix(dir, via)
		}
		_, err := os.Lstat(filepath.Join(dir, ".ambit-proof-"+c.targets.Nonce))
		found[i].Private = errors.Is(err, fs.ErrNotExist)
	}
}

// received reports whether the datagram canary got anything.
func (c *canaries) received() bool {
	if c.udp == nil {
		return false
	}
	_ = c.udp.SetReadDeadline(time.Now().Add(5 * time.Millisecond)) // over loopback it is there or never comes
	var b [64]byte
	n, _, err := c.udp.ReadFrom(b[:])
	return err == nil && n > 0
}

// setCanaries listens on the host and gathers what must be out of reach.
func setCanaries(ctx context.Context, s Subject) (c *canaries, err error) {
	t := targets{
		Nonce: s.Nonce, Lines: s.Lines, Net: s.Spec.Network, PID: os.Getpid(), HomeDir: s.HomeDir, TempDir: s.TempDir,
		Namespaced: s.Namespaced, Real: s.Real,
	}
	c = &canaries{}
	defer func() {
		if err != nil {
			c.remove()
		}
	}()
	for _, en := range s.Spec.Sandbox {
		if !en.ReadOnly && !slices.Contains(s.Open, en.Root) {
			t.Writable = append(t.Writable, en.Root)
		}
	}
	t.Outside = []string{"/", "/usr", "/etc", "/opt", "/var", "/srv", "/boot", s.Spec.StateDir, s.Spec.PlanDir, s.Spec.HomeDir, "/tmp", "/dev/shm"}
	if err := c.stateCanary(&t, s); err != nil {
		return c, err
	}
	t.Home = homeObjects(s)
	if err := c.listen(ctx, &t, s); err != nil {
		return c, err
	}
	t.Lines = Without(t.Lines, t.pointless()...)
	c.targets = t
	c.made = slices.Concat(t.Real, t.Outside)
	return c, nil
}

// stateCanary puts a file into the plan's folder.
func (c *canaries) stateCanary(t *targets, s Subject) error {
	p := filepath.Join(s.Spec.PlanDir, "canary-"+s.Nonce)
	if err := os.WriteFile(p, []byte(s.Nonce), 0o600); err != nil {
		return err
	}
	c.closers = append(c.closers, func() { os.Remove(p) })
	o, err := objectAt(p)
	if err != nil {
		return err
	}
	t.State = append(t.State, o)
	if o, err := objectAt(filepath.Join(s.Spec.StateDir, "ambit.db")); err == nil {
		t.State = append(t.State, o)
	}
	return nil
}

func objectAt(p string) (object, error) {
	var st unix.Stat_t
	if err := unix.Stat(p, &st); err != nil {
		return object{}, err
	}
	return object{Path: p, Dev: uint64(st.Dev), Ino: st.Ino}, nil
}

// maxObjects bounds how many files of a home are tried.
const maxObjects = 40

// homeObjects are files and folders of the person's home. Nothing is put there;
// what is there is tried.
func homeObjects(s Subject) []object {
	spec := s.Spec
	var found []object
	add := func(dir string, shown bool) {
		es, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range es {
			p := filepath.Join(dir, e.Name())
			if len(found) >= maxObjects || !shown && s.shows(p) || !(e.IsDir() || e.Type().IsRegular()) {
				continue
			}
			if o, err := objectAt(p); err == nil {
				found = append(found, o)
			}
		}
	}
	for _, secret := range []string{".ssh", ".gnupg", ".aws"} {
		// Also where the home is part of a sandbox: there they are masked.
		add(filepath.Join(spec.HomeDir, secret), true)
	}
	if spec.Home != engine.HomeRO {
		if o, err := objectAt(spec.HomeDir); err == nil && !s.shows(spec.HomeDir) {
			found = append(found, o)
		}
		add(spec.HomeDir, false)
	}
	return found
}

// shows reports whether a path is part of what the boundary shows on purpose.
func (s Subject) shows(p string) bool {
	shown := slices.Concat(s.Shown, s.Spec.ReadWrite)
	for _, en := range s.Spec.Sandbox {
		shown = append(shown, en.Root)
		for _, m := range en.Mounts {
			shown = append(append(shown, m.Target), m.Aliases...)
		}
	}
	return slices.ContainsFunc(shown, func(d string) bool { return d == p || strings.HasPrefix(p, d+"/") })
}

// listen opens the sockets that must not be reached.
func (c *canaries) listen(ctx context.Context, t *targets, s Subject) error {
	var lc net.ListenConfig
	if l, err := lc.Listen(ctx, "tcp4", "127.0.0.1:0"); err == nil {
		c.closers = append(c.closers, func() { l.Close() })
		t.TCP = l.Addr().String()
	}
	if l, err := lc.Listen(ctx, "tcp6", "[::1]:0"); err == nil {
		c.closers = append(c.closers, func() { l.Close() })
		t.TCP6 = l.Addr().String()
	}
	if u, err := lc.ListenPacket(ctx, "udp4", "127.0.0.1:0"); err == nil {
		c.closers = append(c.closers, func() { u.Close() })
		c.udp, t.UDP = u, u.LocalAddr().String()
	}
	name := "ambit-proof-" + s.Nonce
	if l, err := lc.Listen(ctx, "unix", "@"+name); err == nil {
		c.closers = append(c.closers, func() { l.Close() })
		t.Abstract = append(t.Abstract, name)
	}
	dir, err := os.Open(s.Spec.PlanDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/sock-%s", dir.Fd(), s.Nonce)})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	p := filepath.Join(s.Spec.PlanDir, "sock-"+s.Nonce)
	c.closers = append(c.closers, func() { l.Close(); os.Remove(p) })
	t.Sockets = append([]string{p}, hostSockets(s)...)
	t.Abstract = append(t.Abstract, abstractSockets()...)
	return nil
}

// maxSockets bounds how many sockets of the host are tried.
const maxSockets = 100

// hostSockets are the paths at which people's daemons and agents listen, and
// those at which somebody listens now.
func hostSockets(s Subject) []string {
	uid := os.Getuid()
	run := fmt.Sprintf("/run/user/%d", uid)
	ps := []string{
		"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock", run + "/podman/podman.sock", run + "/docker.sock",
		"/run/dbus/system_bus_socket", run + "/bus", run + "/gnupg/S.gpg-agent", run + "/keyring/ssh", run + "/systemd/private", "/run/systemd/private",
		"/tmp/.X11-unix/X0", "/tmp/.X11-unix/X1", run + "/wayland-0", run + "/pipewire-0", "/run/snapd.socket", "/var/snap/lxd/common/lxd/unix.socket", "/var/lib/incus/unix.socket",
	}
	if p := s.Getenv("SSH_AUTH_SOCK"); filepath.IsAbs(p) {
		ps = append(ps, p)
	}
	if rest, ok := strings.CutPrefix(s.Getenv("DBUS_SESSION_BUS_ADDRESS"), "unix:path="); ok {
		p, _, _ := strings.Cut(rest, ",")
		ps = append(ps, p)
	}
	bound, _ := view.BoundSockets(view.OS{})
	for _, p := range bound {
		if len(ps) < maxSockets && !s.shows(p) {
			ps = append(ps, p)
		}
	}
	slices.Sort(ps)
	return slices.Compact(ps)
}

func abstractSockets() []string {
	_, names := view.BoundSockets(view.OS{})
	if len(names) > maxSockets {
		names = names[:maxSockets]
	}
	return names
}
