//go:build linux

package landlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/domain"
	"github.com/ambit-run/ambit/internal/confine/guard"
	"github.com/ambit-run/ambit/internal/confine/view"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Confiner is the Landlock rung.
type Confiner struct {
	host  view.Host
	token func() string
	weak  weakness // see sabotage.go
}

var _ engine.Confiner = (*Confiner)(nil)

// New returns the Landlock rung over the given machine. token yields unguessable
// names fit for files.
func New(host view.Host, token func() string) *Confiner { return &Confiner{host: host, token: token} }

// Rung is engine.RungLandlock.
func (*Confiner) Rung() engine.Rung { return engine.RungLandlock }

// Probe asks the kernel for Landlock and seccomp.
func (c *Confiner) Probe(context.Context) (engine.Probe, error) {
	abi, err := domain.ABI()
	if err != nil {
		return engine.Probe{}, fault.Wrap(fault.Unavailable, "probe Landlock", err)
	}
	var missing []string
	switch {
	case abi == 0:
		missing = append(missing, "Landlock: it is not in this kernel or switched off; needs Linux 5.19 with `landlock` in the `lsm=` boot parameter")
	case abi < domain.LeastABI:
		missing = append(missing, "Landlock ABI 2: this kernel has ABI 1, which breaks every rename between folders; needs Linux 5.19")
	}
	if err := haveFilter(); err != nil {
		missing = append(missing, "seccomp filters: "+err.Error())
	}
	if len(missing) > 0 {
		return engine.Probe{Reason: missing[0], Missing: missing}, nil
	}
	return engine.Probe{OK: true, Reason: fmt.Sprintf("Landlock ABI %d", abi)}, nil
}

// Open checks that nothing runs under another spec and fills the private home.
func (c *Confiner) Open(ctx context.Context, spec engine.CageSpec) (engine.Cage, error) {
	reach, err := view.ComputeReach(spec, c.host)
	if err != nil {
		return nil, err
	}
	hash, err := view.Hash(spec)
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "open confinement", err)
	}
	r := rules{
		Paths:   domain.Paths{Read: append(reach.Read, exe), List: reach.List, Write: reach.Write},
		HostNet: spec.Network == engine.NetworkHost, Sabotage: c.weak.stages,
	}
	if c.weak.paths != nil {
		c.weak.paths(&r.Paths)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "open confinement", err)
	}
	for _, d := range reach.MakeDirs {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fault.Wrap(fault.Unavailable, "open confinement", err)
		}
	}
	if err := furnish(reach); err != nil {
		return nil, err
	}
	w := &guard.Warden{
		PlanDir: spec.PlanDir, Spec: hash, Arg: ArgGuard, Rules: raw, NewToken: c.token,
		Env: func(env []string) []string { return rewrite(env, reach.Set, reach.Unset) },
	}
	if err := w.Open(ctx); err != nil {
		return nil, err
	}
	return &cage{c: c, w: w, spec: spec, reach: reach}, nil
}

// furnish makes the private home's links and files. Commands write that home, so
// nothing there is followed, and what is there stays.
func furnish(reach view.Reach) error {
	if len(reach.Files) == 0 {
		return nil
	}
	home, err := fsop.OpenRoot(reach.Home)
	if err != nil {
		return err
	}
	defer home.Close()
	for _, f := range reach.Files {
		dir, _ := fsop.SplitRel(f.Target)
		if err := home.MkdirAll(dir, 0o755); err != nil {
			continue // a command put something else there; it wanted it so
		}
		if f.Kind == view.KindLink {
			err = home.Symlink(f.Text, f.Target)
		} else {
			var file *os.File
			if file, err = home.Create(f.Target, f.Mode); err == nil {
				_, werr := file.WriteString(f.Text)
				err = errors.Join(werr, file.Close())
			}
		}
		if err != nil && !fault.Is(err, fault.Exists) {
			return err
		}
	}
	return nil
}

// rewrite sets and unsets variables.
func rewrite(env, set, unset []string) []string {
	var out []string
	for _, kv := range env {
		k, _, _ := strings.Cut(kv, "=")
		replaced := slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, k+"=") })
		if !replaced && !slices.Contains(unset, k) {
			out = append(out, kv)
		}
	}
	return append(out, set...)
}

// Close ends the plan's commands and empties their temporary folder; see
// engine.Confiner.
func (c *Confiner) Close(ctx context.Context, spec engine.CageSpec, force bool) error {
	if err := guard.Close(ctx, spec.PlanDir, force); err != nil {
		return err
	}
	plan, err := fsop.OpenRoot(spec.PlanDir)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer plan.Close()
	if err := plan.RemoveAll("tmp"); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}

// Live lists the plan's commands; see engine.Confiner.
func (c *Confiner) Live(_ context.Context, planDir string) ([]engine.Entry, error) {
	return guard.Live(planDir)
}

// cage runs commands under one spec.
type cage struct {
	c     *Confiner
	w     *guard.Warden
	spec  engine.CageSpec
	reach view.Reach
}

// Run runs a command; see engine.Cage.
func (c *cage) Run(ctx context.Context, cmd engine.Command) (engine.Exit, error) {
	return c.w.Run(ctx, cmd)
}

// Release has nothing to let go of.
func (c *cage) Release() error { return nil }
