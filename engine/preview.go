package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

// Preview is what Stage would make of a request: a plan without an id, a folder or
// sandboxes, the handoff its steps would find, and what keeps it from running.
type Preview struct {
	Plan    *Plan
	Handoff ticket.Payload
	Missing []Missing
}

// Missing is one thing that keeps a plan from being staged.
type Missing struct {
	Code  fault.Code `json:"code"`
	What  string     `json:"what"`
	Hint  string     `json:"hint,omitempty"`
	Paths []string   `json:"paths,omitempty"`
}

func (v *Preview) miss(err error) {
	if err == nil {
		return
	}
	f := fault.As(err)
	v.Missing = append(v.Missing, Missing{
		Code: f.Code, What: strings.TrimPrefix(f.Error(), f.Op+": "), Hint: f.Hint, Paths: f.Paths,
	})
}

// Preview says what Stage would make of a request. It asks everything that Stage
// asks, in the same words, and goes on where Stage stops; nothing is created that
// outlives it. See Service.
func (e *Engine) Preview(ctx context.Context, req StageRequest) (*Preview, error) {
	if req.Ticket == nil || req.Dag == nil {
		return nil, fault.New(fault.Internal, "preview", "no ticket was given")
	}
	p := &Plan{
		Kind: "run", Title: req.Ticket.Objective, Cwd: req.Dir, CreatedAt: e.deps.Now(), Options: stageOptions(req.Options),
		Ticket: ticketRef(req), Steps: planSteps(req.Dag), Agent: req.Agent, AgentTTY: req.AgentTTY,
	}
	v := &Preview{Plan: p}
	for _, check := range stageChecks(req) {
		v.miss(check)
	}
	v.miss(checkOptions(p.Options))
	if conf, why, err := e.chooseRung(ctx, p.Options.Confine); err != nil {
		v.miss(err)
	} else {
		p.Rung, p.RungWhy = conf.Rung(), why
	}
	rs, err := e.discover(ctx, req.Dir, req.Spelled, req.Resources)
	v.miss(err)
	if len(rs) > 0 {
		v.miss(checkTick(req.Options, req.TicketPath, req.Dag, rs))
	}
	v.miss(e.checkAgent(req, rs))
	p.Scope = scopePaths(req.Ticket.Scope, rs)
	if req.Scope == ScopeConflict {
		v.miss(e.scopeHeld(ctx, p))
	}
	if err := e.previewBoxes(ctx, v, rs); err != nil {
		return nil, err
	}
	v.Handoff = ticket.Handoff(req.Dag, p.declared(), attached(p, req))
	return v, ctx.Err()
}

// previewBoxes chooses a strategy for each resource. Strategies look at the folder
// they would work in, so there is one for as long as that takes.
func (e *Engine) previewBoxes(ctx context.Context, v *Preview, rs []Resource) error {
	if len(rs) == 0 {
		return nil
	}
	tmp, remove, err := e.probeFolder(previewPrefix)
	if err != nil {
		return err
	}
	p := v.Plan
	for i, r := range rs {
		v.miss(e.checkOwner(p, r, nil))
		req := e.createRequest(p, i, r)
		req.Dir = tmp
		rec := SandboxRecord{
			ID: req.ID, Resource: r, Lower: req.Lower, Dirty: req.Dirty, Confined: req.Confined,
		}
		if s, why, err := e.chooseStrategy(ctx, p.Options.Strategy, &req); err != nil {
			v.miss(err)
		} else {
			rec.Strategy, rec.Reason = s.Name(), why
			if r, ok := s.(Refuser); ok {
				v.miss(r.Refuses(ctx, req))
			}
		}
		p.Sandboxes = append(p.Sandboxes, rec)
	}
	return remove()
}

// probeFolder makes a folder where sandboxes would lie, for strategies to look at.
// It holds the staging lock until remove, so that no sweep takes the folder away.
func (e *Engine) probeFolder(prefix string) (dir string, remove func() error, err error) {
	f, err := e.openStaging()
	if err != nil {
		return "", nil, err
	}
	if err := lockShared(f); err != nil {
		f.Close()
		return "", nil, fault.Wrap(fault.Internal, "look at the state folder", err)
	}
	dir, err = os.MkdirTemp(e.plansDir(), prefix)
	if err != nil {
		f.Close()
		return "", nil, folderFault("look at the state folder", err)
	}
	return dir, func() error { return errors.Join(e.removePlanFolder(dir), f.Close()) }, nil
}

// stageOptions fills in what a plan of a ticket has unless told otherwise.
func stageOptions(o PlanOptions) PlanOptions {
	if o.Lower == "" {
		o.Lower = LowerFrozen
	}
	return o
}

// ticketRef is the ticket as a plan keeps it.
func ticketRef(req StageRequest) *TicketRef {
	sum := sha256.Sum256(req.TicketSrc)
	var raw []byte
	if !utf8.ValidString(req.TicketPath) {
		raw = []byte(req.TicketPath)
	}
	return &TicketRef{
		Path: req.TicketPath, PathBytes: raw, SHA256: hex.EncodeToString(sum[:]),
		ManifestHash: req.Dag.ManifestHash(), Dag: req.Dag,
	}
}

// stageChecks returns what is wrong with a request whatever the machine is like,
// in the order in which it is told.
func stageChecks(req StageRequest) []error {
	var errs []error
	if err := ticket.AsError("stage", ticket.CheckRunnable(req.Dag, len(req.Agent) > 0)); err != nil {
		errs = append(errs, err)
	}
	if ids, met := req.Dag.Prerequisites(); !met {
		errs = append(errs, fault.New(fault.Conflict, "stage", "ticket %s depends on other tickets that are not known to be done", req.Ticket.ID).
			WithPaths(ids...).WithHint("finish them first, or say --assume ID for each that is done"))
	}
	if err := checkPlaceholders(req.Agent); err != nil {
		errs = append(errs, err)
	}
	return errs
}
