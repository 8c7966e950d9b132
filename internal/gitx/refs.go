package gitx

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// Head is where HEAD stands.
type Head struct {
	Commit string // object id; empty before the first commit
	Branch string // full name, "refs/heads/main"; empty when detached
}

// Head reads HEAD. A branch that has no commit yet has an empty Commit.
func (r *Repo) Head(ctx context.Context) (Head, error) {
	// Two questions to git, asked at once: most of each is the start of a process.
	var commit string
	var resolved error
	var other sync.WaitGroup
	other.Go(func() { commit, resolved = r.Resolve(ctx, "HEAD") })
	branch, err := r.Output(ctx, Opts{Exits: []int{1}}, "symbolic-ref", "-q", "HEAD")
	other.Wait()
	if err != nil {
		return Head{}, err
	}
	h := Head{Branch: branch, Commit: commit}
	if fault.Is(resolved, fault.NotFound) && branch != "" {
		return h, nil
	}
	return h, resolved
}

// Resolve returns the commit that a revision names. Errors: not_found.
func (r *Repo) Resolve(ctx context.Context, rev string) (string, error) {
	if err := CheckValue(rev); err != nil {
		return "", err
	}
	id, err := r.Output(ctx, Opts{Exits: []int{1}, Values: []string{rev + "^{commit}"}}, "rev-parse", "--quiet", "--verify", "--end-of-options")
	var exit *ExitError
	if id == "" && (err == nil || errors.As(err, &exit)) {
		return "", fault.New(fault.NotFound, "resolve revision", "%q names no commit", rev).WithCause(err)
	}
	return id, err
}

// Ref is one reference.
type Ref struct {
	Name   string
	Object string // what it points at
	Peeled string // for an annotated tag, the object behind it; else empty
	Target string // for a symbolic reference, the name it stands for; else empty
}

// Refs lists every reference under the given prefixes ("refs/heads/"), all of
// them without one, sorted by name.
func (r *Repo) Refs(ctx context.Context, prefixes ...string) ([]Ref, error) {
	out, err := r.Output(ctx, Opts{Values: prefixes}, "for-each-ref", "--format=%(refname) %(objectname) %(*objectname) %(symref)")
	if err != nil || out == "" {
		return nil, err
	}
	lines := strings.Split(out, "\n")
	refs := make([]Ref, 0, len(lines))
	for _, line := range lines {
		f := strings.Split(line, " ")
		if len(f) != 4 {
			return nil, fmt.Errorf("list references: unexpected line %q", line)
		}
		refs = append(refs, Ref{Name: f[0], Object: f[1], Peeled: f[2], Target: f[3]})
	}
	return refs, nil
}

// PackedRefs renders references as the contents of a packed-refs file. Symbolic
// references cannot be packed and are left out. What tags peel to is not written
// and not promised: for-each-ref peels one level before git 2.45, so a tag of a
// tag would be recorded wrong; git peels by itself where the file says nothing.
func PackedRefs(refs []Ref) string {
	var b strings.Builder
	b.WriteString("# pack-refs with: sorted \n")
	for _, ref := range refs {
		if ref.Target == "" {
			fmt.Fprintf(&b, "%s %s\n", ref.Object, ref.Name)
		}
	}
	return b.String()
}

// CheckBranch returns the full reference name of a short branch name. Errors:
// invalid, when git would not take it, or when it is a name that git itself uses.
func (r *Repo) CheckBranch(ctx context.Context, short string) (string, error) {
	bad := fault.New(fault.Invalid, "name branch", "%q cannot be the name of a branch", short).
		WithHint("use letters, digits, '-', '_', '.' and '/', for example fix/login")
	if CheckValue(short) != nil || short == "HEAD" || short == "@" || strings.HasPrefix(short, "refs/") {
		return "", bad
	}
	full := "refs/heads/" + short
	if _, err := r.Run(ctx, Opts{Values: []string{full}}, "check-ref-format"); err != nil {
		var exit *ExitError
		if errors.As(err, &exit) && exit.Code == 1 {
			return "", bad
		}
		return "", err
	}
	return full, nil
}

// RefChange is one reference moved in a transaction.
type RefChange struct {
	Name string
	New  string // object id; empty deletes the reference
	Old  string // what it must be now; empty = it must not exist
}

// UpdateRefs moves references, all or none, each only if it still is what Old
// says. reason goes into the reflog. Durable when it returns. A reference that is
// something else is a conflict naming it.
func (r *Repo) UpdateRefs(ctx context.Context, reason string, changes ...RefChange) error {
	format, err := r.Format(ctx)
	if err != nil {
		return err
	}
	zero := Zero(format)
	var in strings.Builder
	put := func(parts ...string) { in.WriteString(strings.Join(parts, " ")) }
	put("start\x00")
	names := make([]string, len(changes))
	for i, c := range changes {
		names[i] = c.Name
		if err := CheckValue(c.Name); err != nil {
			return err
		}
		old := c.Old
		if old == "" {
			old = zero
		}
		switch {
		case c.New == "" && c.Old == "":
			put("verify", c.Name+"\x00"+zero+"\x00")
		case c.New == "":
			put("delete", c.Name+"\x00"+old+"\x00")
		default:
			put("update", c.Name+"\x00"+c.New+"\x00"+old+"\x00")
		}
	}
	put("prepare\x00commit\x00")
	_, err = r.withRetry(ctx, func() (Result, error) {
		return r.Run(ctx, Opts{Stdin: strings.NewReader(in.String()), Durable: true}, "update-ref", "--no-deref", "-m", reflogMessage(reason), "--stdin", "-z")
	})
	if err == nil {
		return nil
	}
	var exit *ExitError
	if errors.As(err, &exit) && !heldLock(exit.Stderr) && (strings.Contains(exit.Stderr, "cannot lock ref") || strings.Contains(exit.Stderr, "reference already exists")) {
		return fault.New(fault.Conflict, "move reference", "%s is no longer what it was", strings.Join(names, ", ")).
			WithPaths(names...).WithCause(err)
	}
	return err
}

// RefValue returns what a full reference name points at, or "" when it does not exist.
func (r *Repo) RefValue(ctx context.Context, name string) (string, error) {
	return r.Output(ctx, Opts{Exits: []int{1}, Values: []string{name}}, "rev-parse", "--quiet", "--verify", "--end-of-options")
}

// Zero is the object id that stands for "none" in a format.
func Zero(format string) string {
	if format == "sha256" {
		return strings.Repeat("0", 64)
	}
	return strings.Repeat("0", 40)
}

// IsID reports whether s is a full object id of either format.
func IsID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// lockWait bounds how long a held lock is waited for; writers hold git's locks
// for milliseconds (C16, C17).
const lockWait = 10 * time.Second

// withRetry repeats a command that met another process's lock file, with growing
// pauses, until it passes or lockWait has gone by.
func (r *Repo) withRetry(ctx context.Context, run func() (Result, error)) (Result, error) {
	deadline := time.Now().Add(lockWait)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		res, err := run()
		var exit *ExitError
		if !errors.As(err, &exit) || !heldLock(exit.Stderr) || time.Now().After(deadline) {
			return res, err
		}
		select {
		case <-ctx.Done():
			return res, fault.Wrap("", "wait for git's lock", context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// heldLock reports whether git failed because another git was at work: it held a
// lock, or took a worktree away while the list of them was read.
func heldLock(stderr string) bool {
	return strings.Contains(stderr, ".lock': File exists") || strings.Contains(stderr, "could not lock config file") ||
		(strings.Contains(stderr, "failed to read ") && strings.Contains(stderr, "/commondir")) ||
		(strings.Contains(stderr, "nvalid path ") && strings.Contains(stderr, "/worktrees/"))
}

// DropReflog removes the newest entry of a reference's log if UpdateRefs made it
// with this reason and it led to the commit now; otherwise, and without a log, it
// does nothing.
func (r *Repo) DropReflog(ctx context.Context, name, reason, now string) error {
	top, err := r.Output(ctx, Opts{Exits: []int{128}, Values: []string{name}}, "reflog", "show", "--no-abbrev", "--format=%H %gs", "-n", "1")
	if err != nil || top != now+" "+reflogMessage(reason) {
		return err
	}
	_, err = r.withRetry(ctx, func() (Result, error) {
		return r.Run(ctx, Opts{Values: []string{name + "@{0}"}, Durable: true}, "reflog", "delete")
	})
	return err
}

func reflogMessage(reason string) string {
	return "ambit: " + strings.Join(strings.Fields(reason), " ")
}
