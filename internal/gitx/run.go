package gitx

import (
	"context"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/bounded"
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
	stdout := &bounded.Buffer{Max: opts.Limit, Refuse: true}
	if stdout.Max <= 0 {
		stdout.Max = DefaultLimit
	}
	cmd.Stdout = stdout
	if opts.Stdout != nil {
		cmd.Stdout = opts.Stdout
	}
	stderr := &bounded.Buffer{Max: stderrLimit} // the first lines name the cause
	cmd.Stderr = stderr
	ownGroup(cmd, brief[args[0]])
	cmd.WaitDelay = 2 * time.Second // then git itself is killed, and pipes that others hold are let go

	runErr := runLocked(cmd)
	if ctx.Err() != nil && cmd.Process != nil {
		_ = signalGroup(cmd, syscall.SIGKILL) // what is left of the group, if anything is
	}
	res := Result{Stdout: stdout.Bytes()}
	if cmd.ProcessState != nil {
		res.Exit = cmd.ProcessState.ExitCode()
	}
	if cause := context.Cause(ctx); cause != nil && runErr != nil {
		return res, fault.Wrap(fault.CodeOf(cause), "git "+args[0], cause)
	}
	if stdout.Over() {
		return res, fault.New(fault.Unsupported, "git "+args[0], "more than %d bytes of output", stdout.Max)
	}
	if runErr != nil && slices.Contains(opts.Exits, res.Exit) && res.Exit > 0 {
		return res, nil
	}
	if runErr != nil {
		return res, failure(args, res.Exit, stderr.String(), runErr)
	}
	return res, nil
}
