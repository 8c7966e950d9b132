package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/bounded"
)

// What git does to a sandboxed repository happens inside the confinement: its
// configuration, attributes and hooks were written by a step and may run
// anything, which there is harmless. Hooks and drivers that could fail are
// switched off all the same, so that ambit's own commits come through. What stays,
// such as filters, can say and take as much as it likes: so everything git says is
// bounded, and how long it takes.
var gitInsideEnv = []string{
	"GIT_CONFIG_COUNT=6",
	"GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=/dev/null",
	"GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false",
	"GIT_CONFIG_KEY_2=commit.gpgSign", "GIT_CONFIG_VALUE_2=false",
	"GIT_CONFIG_KEY_3=gc.auto", "GIT_CONFIG_VALUE_3=0",
	"GIT_CONFIG_KEY_4=maintenance.auto", "GIT_CONFIG_VALUE_4=false",
	"GIT_CONFIG_KEY_5=safe.directory", "GIT_CONFIG_VALUE_5=*",
	"GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
}

const (
	// gitSays bounds what is kept of a short answer or complaint, in bytes, and
	// gitQuoted what a message repeats of it, in characters.
	gitSays   = 64 << 10
	gitQuoted = 500
	// ignoreLimit bounds how long git may think about ignore rules. It runs no
	// filter for that: a million paths take it seconds.
	ignoreLimit = 2 * time.Minute
)

// errGitLimit is the cause of every error that says git inside came to a bound:
// what the step did is to blame then, not the plan.
var errGitLimit = errors.New("a filter or driver that a step configured may not end")

func gitLimit(limit time.Duration) error {
	return fault.New(fault.Timeout, "", "git in the sandbox took longer than %s", limit).WithCause(errGitLimit).
		WithHint("`git config --list` inside shows what steps configured; `ambit apply --to worktree` carries the files without the commits")
}

// gitInside runs one command in the sandbox of a git resource, for as long as a
// step may take, and returns the beginning of its standard error. stdin and stdout
// may be nil; stdout bounds itself. A command that fails is an Exit.
func (c *cell) gitInside(ctx context.Context, i int, stdin []byte, extraEnv []string, stdout Writer, argv ...string) (Exit, string, error) {
	cage, err := c.open(ctx, nil)
	if err != nil {
		return Exit{}, "", err
	}
	env := append(c.eng.commandEnv(c.plan, c.environ, c.entrances, nil), gitInsideEnv...)
	env = append(env, extraEnv...)
	stderr := &bounded.Buffer{Max: gitSays}
	cmd := Command{Name: "git", Argv: argv, Dir: c.entrances[i].Root, Env: env, Stdout: stdout, Stderr: stderr}
	if stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return Exit{}, "", fault.Wrap(fault.Internal, "run git inside", err)
		}
		done := make(chan struct{})
		go func() { // ends when all is written, or when the reading end is closed below
			defer close(done)
			_, _ = w.Write(stdin) // a command that does not read its input is its own business
			w.Close()
		}()
		defer func() {
			r.Close()
			<-done
		}()
		cmd.Stdin = r
	}
	limit := cmp.Or(c.gitLimit, c.eng.cfg.StepTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, gitLimit(limit))
	defer cancel()
	exit, err := cage.Run(ctx, cmd)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errGitLimit) {
		err = cause // whatever was being done on the way
	}
	return exit, shorten(strings.TrimSpace(stderr.String()), gitQuoted), err
}

// ignoredInside returns the classifier for changed paths of sandbox i, or nil
// where there are no ignore rules. A repository that a step destroyed ignores
// nothing: then everything is shown.
func (c *cell) ignoredInside(i int) func(context.Context, []string) (map[string]bool, error) {
	if c.plan.Sandboxes[i].Resource.Git == nil || c.plan.Sandboxes[i].Strategy == StrategyNone {
		return nil
	}
	return func(ctx context.Context, paths []string) (map[string]bool, error) {
		if len(paths) == 0 {
			return nil, nil
		}
		asked := []byte(strings.Join(paths, "\x00") + "\x00")
		out := &bounded.Buffer{Max: int64(len(asked))} // it repeats some of them
		ctx, cancel := context.WithTimeoutCause(ctx, ignoreLimit, gitLimit(ignoreLimit))
		defer cancel()
		exit, stderr, err := c.gitInside(ctx, i, asked, nil, out, "git", "check-ignore", "-z", "--stdin")
		if errors.Is(err, errGitLimit) {
			exit.Code, stderr, err = 128, fault.As(err).Error(), nil
		}
		if err != nil {
			return nil, err
		}
		if exit.Code > 1 || out.Over() {
			c.plan.Notices = append(c.plan.Notices, fmt.Sprintf("%s: git cannot say which paths are ignored (%s), so all are shown",
				c.plan.Sandboxes[i].Resource.Name, stderr))
			return nil, nil
		}
		set := map[string]bool{}
		for _, p := range strings.Split(out.String(), "\x00") {
			if p != "" {
				set[p] = true
			}
		}
		return set, nil
	}
}

// commitScript stages everything that is not ignored, commits it if anything is
// staged, and prints the tip and the branch HEAD is on.
const commitScript = `set -e
git add -A
git diff --cached --quiet || git commit -q --no-verify -F -
git rev-parse HEAD
git symbolic-ref -q HEAD || echo detached
`

// commitInside wraps what a step left uncommitted into one commit of ambit's.
// It returns the tip, or "" with a reason when the step left no repository that
// can be committed to; the change itself is not lost by that.
func (c *cell) commitInside(ctx context.Context, i int, subject string, trailers []string) (tip, reason string, err error) {
	author := c.eng.deps.Author(ctx, c.plan.Sandboxes[i].Resource)
	name, mail := splitAuthor(author)
	via := "ambit"
	if len(c.plan.Agent) > 0 {
		via = slug(lastPart(c.plan.Agent[0]), 40)
	}
	env := []string{
		"GIT_AUTHOR_NAME=" + name + " via " + via, "GIT_AUTHOR_EMAIL=" + mail,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + mail,
	}
	msg := subject + "\n\n" + strings.Join(trailers, "\n") + "\n"
	out := &bounded.Buffer{Max: gitSays}
	exit, stderr, err := c.gitInside(ctx, i, []byte(msg), env, out, "/bin/sh", "-c", commitScript)
	if err != nil {
		return "", "", err
	}
	lines := strings.Fields(out.String())
	if exit.Code != 0 || len(lines) < 2 {
		return "", fmt.Sprintf("git commit inside ended with %d: %s", exit.Code, stderr), nil
	}
	if want := "refs/heads/ambit/" + c.plan.ID; lines[1] != want {
		reason = fmt.Sprintf("HEAD was left on %s instead of %s", shorten(lines[1], nameShown), want)
	}
	return lines[0], reason, nil
}

// packInside writes the plan's commits as a pack, made inside and hostile.
func (c *cell) packInside(ctx context.Context, i int, base, tip, path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return folderFault("pack commits", err)
	}
	revs := tip + "\n"
	if base != "" {
		revs += "^" + base + "\n"
	}
	exit, stderr, err := c.gitInside(ctx, i, []byte(revs), nil, f, "git", "pack-objects", "--revs", "--stdout", "-q")
	if cerr := f.Close(); err == nil && cerr != nil {
		err = folderFault("pack commits", cerr)
	}
	if err != nil {
		return err
	}
	if exit.Code != 0 {
		return fault.New(fault.Conflict, "pack commits", "git pack-objects inside the sandbox ended with %d: %s", exit.Code, stderr).
			WithHint("the step damaged its repository; `ambit apply --to worktree` carries the files without the commits")
	}
	return nil
}

func splitAuthor(author string) (name, mail string) {
	name, mail = "ambit", "ambit@localhost"
	if i := strings.LastIndex(author, " <"); i > 0 && strings.HasSuffix(author, ">") {
		name, mail = author[:i], author[i+2:len(author)-1]
	}
	return name, mail
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
