package gitx

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// Opts tune one git command. The zero value collects standard output, up to the
// default limit, and takes every exit code but 0 as a failure.
type Opts struct {
	Stdin  io.Reader
	Stdout io.Writer // where output streams to; nil = Result.Stdout
	// Values are revisions, reference names and object ids taken from data. They
	// follow the fixed arguments; one that begins with '-' or holds a NUL or a
	// newline is refused (V33).
	Values []string
	// Paths follow "--". They are taken literally, never as patterns.
	Paths []string
	// Env adds author and committer variables; any other is refused.
	Env []string
	// Exits are exit codes beside 0 that are answers, not failures.
	Exits []int
	// Limit bounds collected output in bytes; 0 = DefaultLimit. More is an error.
	Limit int64
	// Durable makes git fsync everything it writes before it ends.
	Durable bool

	person bool // the person's own configuration is visible: "git config" only
}

// Result is what a command left.
type Result struct {
	Stdout []byte
	Exit   int
}

// DefaultLimit bounds collected output: 256 MiB, a listing of some two million paths.
const DefaultLimit = 256 << 20

// stderrLimit bounds what is kept of standard error.
const stderrLimit = 64 << 10

// realCommands may run on the real git directory: none of them reads filters,
// attributes or drivers, or contents of files in the work tree.
var realCommands = map[string]bool{
	"check-ref-format": true, "for-each-ref": true, "reflog": true,
	"rev-parse": true, "show-ref": true, "symbolic-ref": true, "update-ref": true,
	"worktree": true,
}

// brief commands change references or the list of worktrees. They are never
// interrupted (see ownGroup).
var brief = map[string]bool{"reflog": true, "update-ref": true, "worktree": true}

// plainCommands may run in a Plain view.
var plainCommands = map[string]bool{
	"cat-file": true, "check-attr": true, "check-ignore": true, "checkout-index": true,
	"commit-tree": true, "diff-files": true, "diff-index": true, "diff-tree": true,
	"fsck": true, "hash-object": true, "index-pack": true, "ls-files": true, "ls-tree": true,
	"merge-base": true, "merge-tree": true, "pack-objects": true,
	"read-tree": true, "rev-list": true, "rev-parse": true, "unpack-objects": true, "update-index": true,
	"write-tree": true,
}

// Run runs one git command and waits for it and, should ctx end first, for the
// end of its whole process group. args are fixed words of the program, the
// command's name first; data goes into opts.Values and opts.Paths.
func (r *Repo) Run(ctx context.Context, opts Opts, args ...string) (Result, error) {
	opts.person = false
	return r.run(ctx, opts, args...)
}

// Output runs a command and returns its standard output without one final newline.
func (r *Repo) Output(ctx context.Context, opts Opts, args ...string) (string, error) {
	res, err := r.Run(ctx, opts, args...)
	return strings.TrimSuffix(string(res.Stdout), "\n"), err
}

// EachZ runs a command with NUL-terminated output and hands over the records one
// by one, as they arrive. An error of fn ends the command.
func (r *Repo) EachZ(ctx context.Context, opts Opts, fn func(rec string) error, args ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pr, pw := io.Pipe()
	opts.Stdout = pw
	done := make(chan error, 1)
	go func() {
		err := scanZ(pr, fn)
		if err != nil {
			cancel(err)
		}
		// Unblocks the writer whether or not everything was read.
		_ = pr.CloseWithError(io.ErrClosedPipe)
		done <- err
	}()
	_, err := r.Run(ctx, opts, args...)
	_ = pw.Close() // cannot fail
	if scanErr := <-done; scanErr != nil {
		return scanErr
	}
	return err
}

func (r *Repo) run(ctx context.Context, opts Opts, args ...string) (Result, error) {
	argv, err := r.argv(opts, args)
	if err != nil {
		return Result{}, err
	}
	if err := r.git.find(ctx); err != nil {
		return Result{}, err
	}
	env, err := r.env(opts)
	if err != nil {
		return Result{}, err
	}
	if brief[args[0]] {
		ctx = context.WithoutCancel(ctx)
	}
	cmd := exec.CommandContext(ctx, r.git.binary, argv...)
	cmd.Env = env
	cmd.Dir = "/"
	if r.workTree != "" && r.plain {
		cmd.Dir = r.workTree
	}
	cmd.Stdin = opts.Stdin
	stdout := &limited{max: opts.Limit}
	if stdout.max <= 0 {
		stdout.max = DefaultLimit
	}
	cmd.Stdout = stdout
	if opts.Stdout != nil {
		cmd.Stdout = opts.Stdout
	}
	stderr := &limited{max: stderrLimit, drop: true}
	cmd.Stderr = stderr
	ownGroup(cmd, brief[args[0]])
	cmd.WaitDelay = 2 * time.Second // then git itself is killed, and pipes that others hold are let go

	runErr := runLocked(cmd)
	if ctx.Err() != nil && cmd.Process != nil {
		_ = signalGroup(cmd, syscall.SIGKILL) // what is left of the group, if anything is
	}
	res := Result{Stdout: stdout.buf.Bytes()}
	if cmd.ProcessState != nil {
		res.Exit = cmd.ProcessState.ExitCode()
	}
	if cause := context.Cause(ctx); cause != nil && runErr != nil {
		return res, fault.Wrap(fault.CodeOf(cause), "git "+args[0], cause)
	}
	if stdout.over {
		return res, fault.New(fault.Unsupported, "git "+args[0], "more than %d bytes of output", stdout.max)
	}
	if runErr != nil && slices.Contains(opts.Exits, res.Exit) && res.Exit > 0 {
		return res, nil
	}
	if runErr != nil {
		return res, failure(args, res.Exit, stderr.buf.String(), runErr)
	}
	return res, nil
}

// argv checks that the command may run in this view and that data cannot be
// taken for options.
func (r *Repo) argv(opts Opts, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, fault.New(fault.Internal, "run git", "no command")
	}
	allowed := realCommands
	if r.plain {
		allowed = plainCommands
	}
	if opts.person {
		allowed = map[string]bool{"config": true}
	}
	if !allowed[args[0]] {
		return nil, fault.New(fault.Internal, "run git", "%q may not run %s", args[0], map[bool]string{true: "in a plain view", false: "on a real git directory"}[r.plain])
	}
	argv := append([]string{"--no-pager", "--literal-pathspecs"}, args...)
	for _, v := range opts.Values {
		if err := CheckValue(v); err != nil {
			return nil, err
		}
		argv = append(argv, v)
	}
	if len(opts.Paths) > 0 {
		argv = append(argv, "--")
		for _, p := range opts.Paths {
			if p == "" || strings.Contains(p, "\x00") {
				return nil, fault.New(fault.Invalid, "run git "+args[0], "%q is not a path", p)
			}
			argv = append(argv, p)
		}
	}
	return argv, nil
}

// CheckValue refuses what git could take for an option, or that would break its
// line-based input (V33).
func CheckValue(v string) error {
	if v == "" || v[0] == '-' || strings.ContainsAny(v, "\x00\n\r") {
		return fault.New(fault.Invalid, "run git", "%q cannot name a revision or reference", v)
	}
	return nil
}

func (r *Repo) env(opts Opts) ([]string, error) {
	env := baseEnv(r.git.binary)
	if opts.person {
		env = slices.DeleteFunc(env, func(kv string) bool {
			return strings.HasPrefix(kv, "GIT_CONFIG_") || strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "XDG_")
		})
		env = append(env, r.git.personEnv()...)
	} else {
		env = append(env, settingsEnv(hardening, r.extraSettings(opts))...)
	}
	env = append(env, "GIT_DIR="+r.gitDir)
	if r.workTree != "" && r.plain {
		env = append(env, "GIT_WORK_TREE="+r.workTree)
	}
	if r.index != "" {
		env = append(env, "GIT_INDEX_FILE="+r.index)
	}
	if r.objects != "" {
		env = append(env, "GIT_OBJECT_DIRECTORY="+r.objects)
	}
	if len(r.alternates) > 0 {
		quoted := make([]string, len(r.alternates))
		for i, a := range r.alternates {
			quoted[i] = quoteAlternate(a)
		}
		env = append(env, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+strings.Join(quoted, ":"))
	}
	if r.shallow != "" {
		env = append(env, "GIT_SHALLOW_FILE="+r.shallow)
	}
	for _, kv := range opts.Env {
		name, _, _ := strings.Cut(kv, "=")
		if !allowedEnv[name] || strings.Contains(kv, "\x00") {
			return nil, fault.New(fault.Internal, "run git", "variable %q may not be set", name)
		}
		env = append(env, kv)
	}
	return env, nil
}

// extraSettings are the settings of this view and this command. safe.directory
// names exactly this repository, for git processes that git starts (C90).
func (r *Repo) extraSettings(opts Opts) []setting {
	s := slices.Clone(r.settings)
	s = append(s, setting{"safe.directory", ""}, setting{"safe.directory", r.loc.GitDir})
	if r.loc.WorkTree != "" {
		s = append(s, setting{"safe.directory", r.loc.WorkTree})
	}
	if opts.Durable {
		s = append(s, setting{"core.fsync", "all"}, setting{"core.fsyncMethod", "fsync"})
	} else {
		s = append(s, setting{"core.fsync", "none"})
	}
	return s
}

// limited collects output up to a bound. Beyond it, it either drops (standard
// error, whose first lines name the cause) or fails the write, which ends git.
type limited struct {
	buf  bytes.Buffer
	max  int64
	drop bool
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := l.max - int64(l.buf.Len())
	if int64(len(p)) <= room {
		return l.buf.Write(p)
	}
	l.over = true
	if !l.drop {
		return 0, fmt.Errorf("output over %d bytes", l.max)
	}
	l.buf.Write(p[:room])
	return len(p), nil
}
