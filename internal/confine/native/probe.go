//go:build linux

package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/domain"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"golang.org/x/sys/unix"
)

// ArgCheck starts the binary as the check of what namespaces allow here.
const ArgCheck = "ambit-check"

// trial is one thing the check tried in new namespaces.
type trial struct {
	Name  string        `json:"name"`
	Errno syscall.Errno `json:"errno,omitempty"` // 0: it worked
	Text  string        `json:"text,omitempty"`
}

// Trials, in order; the first four are what the rung cannot do without.
const (
	trialNamespaces = "make namespaces" // tried by the parent
	trialMount      = "mount"
	trialReadOnly   = "make mounts read-only"
	trialProc       = "mount proc"
	trialDev        = "mount devpts"
	trialOverlay    = "mount overlay"
	trialLimit      = "forbid nested user namespaces"
	trialLoopback   = "raise loopback"
	trialPivot      = "change the root"
)

// Probe makes the namespaces and mounts that a holder makes, in a child that then
// ends, and says what is refused.
func (c *Confiner) Probe(ctx context.Context) (engine.Probe, error) {
	ts, err := check(ctx)
	if err != nil {
		return engine.Probe{}, err
	}
	return judge(ts, machineFacts()), nil
}

// judge turns trials into a probe.
func judge(ts []trial, f facts) engine.Probe {
	var p engine.Probe
	fatal := false
	for _, t := range ts {
		if t.Errno == 0 && t.Text == "" {
			continue
		}
		m := f.remedy(t)
		p.Missing = append(p.Missing, m)
		if t.Name != trialOverlay {
			fatal = true
			if p.Reason == "" {
				p.Reason = m
			}
		}
	}
	if fatal {
		return p
	}
	p.OK, p.Reason = true, "user namespaces"
	if f.landlock > 0 {
		p.Reason += fmt.Sprintf(", Landlock ABI %d", f.landlock)
	} else {
		p.Missing = append(p.Missing, "Landlock: not in this kernel or switched off; the namespaces stand alone")
	}
	return p
}

// check starts the child and reads its trials.
func check(ctx context.Context) ([]trial, error) {
	fail := func(err error) ([]trial, error) { return nil, fault.Wrap(fault.Unavailable, "probe namespaces", err) }
	a, err := attr(holder.Config{})
	if err != nil {
		return fail(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		w.Close()
		return fail(err)
	}
	defer null.Close()
	p, err := os.StartProcess("/proc/self/exe", []string{"ambit", ArgCheck}, &os.ProcAttr{
		Dir: "/", Env: holder.SelfEnv(), Files: []*os.File{null, w, null}, Sys: a,
	})
	w.Close()
	if err != nil {
		return []trial{failed(trialNamespaces, err)}, nil
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Kill() })
	defer stop()
	_ = r.SetReadDeadline(time.Now().Add(10 * time.Second))
	var ts []trial
	derr := json.NewDecoder(r).Decode(&ts)
	_ = p.Kill()
	_, _ = p.Wait()
	if ctx.Err() != nil {
		return nil, fault.Wrap("", "probe namespaces", context.Cause(ctx))
	}
	if derr != nil {
		return []trial{{Name: trialNamespaces, Text: "the check ended without a word: " + derr.Error()}}, nil
	}
	return ts, nil
}

// failed records an error as a trial.
func failed(name string, err error) trial {
	t := trial{Name: name, Text: err.Error()}
	errors.As(err, &t.Errno)
	return t
}

// CheckMain is the check: it runs in new namespaces and ends with them.
func CheckMain() int {
	closeErr := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	var ts []trial
	try := func(name string, f func() error) bool {
		err := f()
		if err == nil {
			ts = append(ts, trial{Name: name})
			return true
		}
		ts = append(ts, failed(name, err))
		return false
	}
	var r *root
	ok := closeErr == nil && try(trialMount, func() error {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		var err error
		r, err = newRoot("/etc") // any folder that every machine has
		return err
	})
	ok = ok && try(trialReadOnly, func() error { return r.bindPath("/usr", "/usr") })
	ok = ok && try(trialProc, r.proc)
	ok = ok && try(trialDev, r.devices)
	if ok {
		try(trialOverlay, r.tryOverlay)
		_ = try(trialPivot, r.become) && try(trialLimit, func() error { return forbidUserNamespaces(nil) }) &&
			try(trialLoopback, raiseLoopback)
	}
	if json.NewEncoder(os.Stdout).Encode(ts) != nil {
		return 1
	}
	return 0
}

// bindPath binds a host folder read-only.
func (r *root) bindPath(source, target string) error {
	src, err := openHost(source)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	return r.bind(src, target, true, false)
}

// tryOverlay mounts an overlay over folders of the new root.
func (r *root) tryOverlay() error {
	for _, d := range []string{"/o/lower", "/o/upper", "/o/work", "/o/merged"} {
		fd, err := r.mkdirAll(d, 0o755, false)
		if err != nil {
			return err
		}
		unix.Close(fd)
	}
	dir, err := r.handle("/o")
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	at, err := r.handle("/o/merged")
	if err != nil {
		return err
	}
	defer unix.Close(at)
	base := fdPath(dir)
	return mountAt(at, "overlay", 0, "userxattr,lowerdir="+base+"/lower,upperdir="+base+"/upper,workdir="+base+"/work")
}

// facts are what remedies depend on.
type facts struct {
	exe          string // this binary, for an AppArmor profile
	maxUserns    string // user.max_user_namespaces
	unprivileged string // kernel.unprivileged_userns_clone (Debian, Arch kernels)
	appArmor     string // kernel.apparmor_restrict_unprivileged_userns (Ubuntu)
	filtered     bool   // a system call filter is on us: a container's
	procMasked   bool   // parts of /proc are covered: a container's
	uid          int
	kernel       string
	inside       bool // this already runs in a sandbox of ambit's
	landlock     int
}

// machineFacts reads them.
func machineFacts() facts {
	read := func(p string) string {
		b, err := os.ReadFile("/proc/sys/" + p)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	f := facts{
		maxUserns: read("user/max_user_namespaces"), unprivileged: read("kernel/unprivileged_userns_clone"),
		appArmor: read("kernel/apparmor_restrict_unprivileged_userns"), kernel: read("kernel/osrelease"), uid: os.Geteuid(),
	}
	f.exe, _ = os.Executable()
	_, err := os.Stat(insideExe)
	f.inside = err == nil
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		f.filtered = strings.Contains(string(b), "\nSeccomp:\t2")
	}
	if b, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		f.procMasked = strings.Contains(string(b), " /proc/")
	}
	f.landlock, _ = domain.ABI()
	return f
}

// remedy says what is missing and what to do about it.
func (f facts) remedy(t trial) string {
	what := t.Name + ": " + t.Text
	denied := t.Errno == syscall.EPERM || t.Errno == syscall.EACCES
	switch {
	case f.inside && t.Name == trialNamespaces:
		return "user namespaces: this already runs in a sandbox of ambit's, in which there can be no other"
	case f.maxUserns == "0" && t.Name == trialNamespaces:
		return "user namespaces: user.max_user_namespaces is 0; `sudo sysctl -w user.max_user_namespaces=15000` allows them (keep it in /etc/sysctl.d)"
	case f.unprivileged == "0" && t.Name == trialNamespaces:
		return "user namespaces: kernel.unprivileged_userns_clone is 0; `sudo sysctl -w kernel.unprivileged_userns_clone=1` allows them (keep it in /etc/sysctl.d)"
	case f.appArmor == "1" && f.uid != 0 && denied:
		return "user namespaces: AppArmor takes their capabilities away (kernel.apparmor_restrict_unprivileged_userns is 1); " + f.appArmorProfile()
	case f.filtered && denied && t.Name == trialNamespaces:
		return "user namespaces: this container's system call filter refuses them; start it with `--security-opt seccomp=unconfined`"
	case t.Name == trialProc && denied:
		return "mount proc: this container covers parts of /proc, so the kernel refuses a new one; start it with `--security-opt systempaths=unconfined`"
	case t.Name == trialNamespaces && t.Errno == syscall.ENOSPC:
		return "user namespaces: the limit user.max_user_namespaces (" + f.maxUserns + ") is used up or they are nested too deep"
	case t.Name == trialNamespaces && (t.Errno == syscall.EINVAL || t.Errno == syscall.ENOSYS):
		return "namespaces: this kernel (" + f.kernel + ") was built without some; needs CONFIG_USER_NS, PID_NS, NET_NS, IPC_NS, UTS_NS and CGROUPS"
	case t.Name == trialReadOnly && t.Errno == syscall.ENOSYS:
		return "make mounts read-only: needs Linux 5.12, this is " + f.kernel
	case t.Name == trialOverlay:
		return "overlay in user namespaces: " + t.Text + "; needs Linux 5.11 with overlayfs (`sudo modprobe overlay`); sandboxes are then copies"
	case denied && f.filtered:
		return what + "; a container's system call filter or security module refuses it: start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`"
	case denied:
		return what + "; a security module (SELinux, AppArmor, a hardened kernel) refuses it in user namespaces"
	}
	return what
}

// appArmorProfile is the repair on Ubuntu 23.10 and newer.
func (f facts) appArmorProfile() string {
	return fmt.Sprintf(`this gives them to ambit alone: printf 'abi <abi/4.0>,\ninclude <tunables/global>\nprofile ambit "%s" flags=(unconfined) {\n  userns,\n}\n' | sudo tee /etc/apparmor.d/ambit >/dev/null && sudo apparmor_parser -r /etc/apparmor.d/ambit`, f.exe)
}
