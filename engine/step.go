package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// step runs one step between two checkpoints. It returns an error only when the
// plan cannot go on; a step that failed is a step that failed.
func (r *runner) step(ctx context.Context, s *Step) (err error) {
	e, p := r.eng, r.plan
	s.Runs++
	suffix := ""
	if s.Runs > 1 {
		suffix = fmt.Sprintf("#%d", s.Runs)
	}
	if r.prev == "" { // the first step of this run: whatever the state is now is what it starts from
		if err := r.checkpoint(ctx, "before:"+s.ID+suffix); err != nil {
			return err
		}
	}
	s.From, s.To, s.Status, s.StartedAt, s.Log = r.prev, "", StepRunning, e.deps.Now(), logPath(s.ID)
	s.Exit, s.Message, s.Tips = nil, "", nil
	if err := e.record(ctx, p, "step.started", s); err != nil {
		return err
	}
	r.report(s)

	exit, runErr := r.command(ctx, s)
	after := context.WithoutCancel(ctx)
	s.EndedAt = e.deps.Now()
	interrupted := runErr != nil && context.Cause(ctx) != nil
	switch {
	case interrupted:
		s.Status, s.Message = StepPending, "interrupted"
	case runErr != nil:
		s.Status, s.Message = StepFailed, runErr.Error()
	case exit.Code != 0:
		s.Status, s.Exit = StepFailed, &exit
		s.Message = fmt.Sprintf("ended with exit code %d", exit.Code) + r.explain(s)
	default:
		s.Status, s.Exit = StepDone, &exit
	}
	if s.Status == StepDone {
		switch gerr := r.gather(ctx, s); {
		case gerr == nil:
			err = r.freeze(after, s, suffix)
		case context.Cause(ctx) != nil:
			interrupted = true
			s.Status, s.Message, s.Exit, s.Tips = StepPending, "interrupted", nil, nil
		case errors.Is(gerr, errGitLimit):
			s.Status, s.Message, s.Tips = StepFailed, gerr.Error(), nil
		default:
			err = gerr
		}
		s.EndedAt = e.deps.Now()
	}
	if s.Status != StepDone && err == nil {
		name := s.ID + "@failed" + suffix
		if interrupted {
			name = s.ID + "@interrupted" + suffix
		}
		err = r.rollBack(after, name)
	}
	if err != nil {
		// Neither frozen nor rolled back (the holder died, the disk is full): the
		// step counts as running, so that whoever takes the plan next first returns
		// to the state before it. Run again on top of itself it would do its work twice.
		s.Status, s.Message = StepRunning, err.Error()
	}
	err = errors.Join(err, e.record(after, p, "step.ended", s))
	r.report(s)
	if err == nil && interrupted {
		return canceled(context.Cause(ctx))
	}
	return err
}

// gather reads back what a step changed and commits it in git. What the step did to
// its repository takes part in that and may never end, so it can be interrupted.
func (r *runner) gather(ctx context.Context, s *Step) error {
	if err := r.tick(ctx, s); err != nil {
		return err
	}
	var sets []ReviewSet
	for i, rec := range r.plan.Sandboxes {
		if rec.Strategy == StrategyNone {
			continue
		}
		set, _, err := r.cell.boxes[rec.ID].Changes(ctx, s.From, CheckpointNow, ChangeOptions{Ignored: r.cell.ignoredInside(i), SkipDrift: true})
		if err != nil {
			return err
		}
		sets = append(sets, ReviewSet{Sandbox: rec.ID, Set: set})
		if rec.Resource.Git == nil {
			continue
		}
		tip, reason, err := r.cell.commitInside(ctx, i, s.Title, []string{"Ambit-Plan: " + r.plan.ID, "Ambit-Step: " + s.ID})
		if err != nil {
			return err
		}
		if reason != "" {
			r.eng.notice(r.req.Observe, r.plan, "%s: after %s: %s", rec.Resource.Name, s.ID, reason)
		}
		if tip != "" {
			if s.Tips == nil {
				s.Tips = map[string]string{}
			}
			s.Tips[rec.ID] = tip
		}
	}
	return r.eng.recordStep(r.plan, s.ID, sets)
}

// freeze makes what a step left the state that the next one starts from.
func (r *runner) freeze(ctx context.Context, s *Step, suffix string) error {
	if err := r.checkpoint(ctx, "after:"+s.ID+suffix); err != nil {
		return err
	}
	s.To = r.prev
	return nil
}

// checkpoint freezes all sandboxes under one name.
func (r *runner) checkpoint(ctx context.Context, name string) error {
	if err := r.eng.checkpoint(ctx, r.cell, name, true, r.req.Observe); err != nil {
		return err
	}
	r.prev = name
	return nil
}

// rollBack keeps what a step left under a name and returns to the state before it.
func (r *runner) rollBack(ctx context.Context, name string) error {
	before := r.prev
	if err := r.eng.checkpoint(ctx, r.cell, name, true, r.req.Observe); err != nil {
		return err
	}
	return r.eng.restoreAll(ctx, r.cell, before, r.req.Observe)
}

// stepLimit is how long a step may take.
func (e *Engine) stepLimit(p *Plan) time.Duration {
	return cmp.Or(p.Options.Timeout, e.cfg.StepTimeout)
}

// command runs the step's own command, or the agent with its prompt.
func (r *runner) command(ctx context.Context, s *Step) (Exit, error) {
	e, p := r.eng, r.plan
	limit := e.stepLimit(p)
	runCtx, cancel := context.WithTimeoutCause(ctx, limit, fault.New(fault.Timeout, "run step", "%s took longer than %s", s.ID, limit).
		WithHint("--timeout gives steps more time"))
	defer cancel()
	cage, err := r.cell.open(ctx, r.req.Observe)
	if err != nil {
		return Exit{}, err
	}
	log, err := os.OpenFile(filepath.Join(p.Dir, s.Log), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return Exit{}, folderFault("keep output", err)
	}
	defer log.Close()
	promptFile, err := r.writePrompt(s)
	if err != nil {
		return Exit{}, err
	}
	dir := r.cell.inside(p.Cwd)
	cmd := Command{Name: "step " + s.ID, Dir: dir, Env: e.commandEnv(p, r.req.Environ, r.cell.entrances, map[string]string{
		"PWD": dir, "AMBIT_STEP": s.ID, "AMBIT_HANDOFF": r.cell.handoffPath(handoffFile), "AMBIT_PROMPT_FILE": r.cell.handoffPath(promptName(s.ID)),
	})}
	out := &stepOutput{log: log, step: s, send: r.send}
	cmd.Stdout, cmd.Stderr = out, out
	if s.Command != "" {
		cmd.Argv = []string{shellOf(s.Shell), "-e", "-c", s.Command}
	} else {
		prompt, err := os.ReadFile(promptFile)
		if err != nil {
			return Exit{}, folderFault("read prompt", err)
		}
		var takesFile bool
		cmd.Argv, takesFile = fillPlaceholders(p.Agent, s.Title, string(prompt), r.cell.handoffPath(promptName(s.ID)))
		switch {
		case p.AgentTTY && r.req.Console.Terminal != nil:
			cmd.TTY, cmd.Terminal = true, r.req.Console.Terminal
		case !takesFile:
			in, err := os.Open(promptFile)
			if err != nil {
				return Exit{}, folderFault("read prompt", err)
			}
			defer in.Close()
			cmd.Stdin = in
		}
	}
	exit, err := cage.Run(runCtx, cmd)
	if err != nil && context.Cause(ctx) == nil && context.Cause(runCtx) != nil {
		err = context.Cause(runCtx) // the limit, not the person
	}
	return exit, errors.Join(err, out.err)
}

// explain adds what a person needs to know about a failure that the boundary, not
// the step, is the reason for. It looks at the end of the output only.
func (r *runner) explain(s *Step) string {
	const tail = 64 << 10
	f, err := os.Open(filepath.Join(r.plan.Dir, s.Log))
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tail {
		if _, err := f.Seek(-tail, io.SeekEnd); err != nil {
			return ""
		}
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	overlaid := false
	for _, rec := range r.plan.Sandboxes {
		overlaid = overlaid || rec.Strategy == StrategyOverlay
	}
	if overlaid && (bytes.Contains(raw, []byte("nvalid cross-device link")) || bytes.Contains(raw, []byte("EXDEV"))) {
		return "; an overlay cannot rename a directory of the original tree (EXDEV): `mv` copies it, and --strategy copy_on_write has no such limit"
	}
	if r.eng.cfg.UID == 0 && r.plan.Rung != RungNone && (bytes.Contains(raw, []byte("ermission denied")) || bytes.Contains(raw, []byte("EACCES"))) {
		return "; inside, root has none of root's privileges: files of other owners are open to it as far as their modes say"
	}
	return ""
}

func shellOf(fence string) string {
	if fence == "bash" {
		return "bash"
	}
	return "/bin/sh"
}

// stepOutput keeps all of a step's output in its log and shows it as it comes.
type stepOutput struct {
	mu   sync.Mutex // stdout and stderr are relayed by two goroutines; an Observer gets one update at a time
	log  *os.File
	step *Step
	send func(Update)
	err  error
}

func (o *stepOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.log.Write(p); err != nil && o.err == nil {
		o.err = folderFault("keep output", err) // the step goes on; it fails at its end, saying why
	}
	c := *o.step
	o.send(Update{Kind: UpdateOutput, Step: &c, Text: string(p)})
	return len(p), nil
}

// Placeholders in an agent command (design page "faces").
const (
	holdTitle      = "{title}"
	holdPrompt     = "{prompt}"
	holdPromptFile = "{prompt_file}"
	holdMCP        = "{mcp_config}"
)

func checkPlaceholders(agent []string) error {
	for _, a := range agent {
		if strings.Contains(a, holdMCP) {
			return fault.New(fault.Unsupported, "stage", "%s in the agent command needs the MCP server, which this version does not have", holdMCP).
				WithHint("leave it out; {title}, {prompt} and {prompt_file} are replaced")
		}
	}
	return nil
}

// fillPlaceholders replaces them in one pass, so that a prompt that contains a
// placeholder is not expanded again.
func fillPlaceholders(agent []string, title, prompt, promptFile string) (argv []string, takesFile bool) {
	rep := strings.NewReplacer(holdTitle, title, holdPrompt, prompt, holdPromptFile, promptFile)
	for _, a := range agent {
		takesFile = takesFile || strings.Contains(a, holdPromptFile)
		argv = append(argv, rep.Replace(a))
	}
	return argv, takesFile
}
