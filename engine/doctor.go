package engine

import (
	"context"
	"fmt"
	"sort"
)

// Doctor says what this machine can do for the resource at dir. See Service.
func (e *Engine) Doctor(ctx context.Context, dir string) (*DoctorReport, error) {
	rep := &DoctorReport{
		StateDir: e.cfg.StateDir, Rungs: map[Rung]Probe{}, Strategies: map[StrategyName]Probe{},
		Programs: map[string]string{}, Facts: map[string]string{},
	}
	for _, c := range e.deps.Confiners {
		p, err := c.Probe(ctx)
		if err != nil {
			p = Probe{Reason: err.Error()}
		}
		rep.Rungs[c.Rung()] = p
		rep.note(string(c.Rung()), p)
	}
	res, err := e.deps.Discoverer.Discover(ctx, dir)
	if err == nil {
		err = e.admit(res)
	}
	if err != nil {
		rep.Facts["resource"] = err.Error()
	} else {
		rep.Facts["resource"] = fmt.Sprintf("%s (%s)", res.Path, res.Type)
		tmp, remove, err := e.probeFolder(doctorPrefix)
		if err != nil {
			return nil, err
		}
		for _, s := range e.deps.Strategies {
			p, err := s.Probe(ctx, CreateRequest{
				Plan: "doctor", ID: "s1", Dir: tmp, BasesDir: e.basesDir(), Resource: res, Lower: LowerLive, Dirty: DirtyCarry,
				Confined: rep.Rungs[RungNative].OK, Now: e.deps.Now(),
			})
			if err != nil {
				p = Probe{Reason: err.Error()}
			}
			rep.Strategies[s.Name()] = p
			rep.note(string(s.Name()), p)
		}
		if err := remove(); err != nil {
			return nil, err
		}
	}
	if e.deps.Programs != nil {
		rep.Programs = e.deps.Programs(ctx)
	}
	if e.deps.Facts != nil {
		for k, v := range e.deps.Facts(ctx, e.cfg.StateDir) {
			rep.Facts[k] = v
		}
	}
	sort.Strings(rep.Missing)
	return rep, nil
}

func (r *DoctorReport) note(name string, p Probe) {
	if p.OK {
		return
	}
	for _, m := range p.Missing {
		r.Missing = append(r.Missing, name+": "+m)
	}
	if len(p.Missing) == 0 {
		r.Missing = append(r.Missing, name+": "+p.Reason)
	}
}
