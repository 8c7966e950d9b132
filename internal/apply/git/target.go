package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// Config is what a Target needs.
type Config struct {
	Git *gitx.Git
	// Files carries the files of a checkout; it is the target for plain directories.
	Files engine.Target
	// Intercept, for tests, is called before each file-system call on the
	// checkout and the git directory.
	Intercept fsop.Intercept
	// LockWait bounds how long somebody else's index.lock is waited for; 0 = 5 s.
	LockWait time.Duration
}

// Target carries plans into git repositories. Safe for concurrent use on
// different repositories.
type Target struct {
	cfg Config
	to  engine.ApplyTo
}

var _ engine.Target = (*Target)(nil)

// New returns the target for engine.ToCommit or engine.ToBranch.
func New(cfg Config, to engine.ApplyTo) *Target {
	if cfg.LockWait <= 0 {
		cfg.LockWait = 5 * time.Second
	}
	return &Target{cfg: cfg, to: to}
}

// To says where it carries.
func (t *Target) To() engine.ApplyTo { return t.to }

// state is what Prepare hands to the other methods. Paths, which may be many,
// lie beside it in the request's folder.
type state struct {
	Plan      string        `json:"plan"`
	Dir       string        `json:"dir"`
	Location  gitx.Location `json:"location"`
	Ref       string        `json:"ref"` // full name of the reference that moves
	Old       string        `json:"old"` // "" = it does not exist
	New       string        `json:"new"`
	Checkout  bool          `json:"checkout"` // index and files follow
	PathsHash string        `json:"paths_hash,omitempty"`
	Objects   int           `json:"objects"` // in result.pack
}

// job is one apply while a method works on it.
type job struct {
	*state
	cfg   Config
	repo  *gitx.Repo // the real git directory
	plain *gitx.Repo

	root, gitDir *fsop.Dir // nil until opened
	plan         *plan
}

// open reads a state back.
func (t *Target) open(ctx context.Context, raw json.RawMessage) (*job, error) {
	s := &state{}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fault.Wrap(fault.Internal, "read the state of an apply", err)
	}
	return t.job(ctx, s)
}

func (t *Target) job(ctx context.Context, s *state) (*job, error) {
	repo, err := t.cfg.Git.Repo(s.Location)
	if err != nil {
		return nil, err
	}
	plain, err := repo.Plain(ctx)
	if err != nil {
		return nil, err
	}
	return &job{state: s, cfg: t.cfg, repo: repo, plain: plain}, nil
}

func (j *job) file(name string) string { return filepath.Join(j.Dir, name) }

// close lets go of the folders that were opened.
func (j *job) close() {
	for _, d := range []*fsop.Dir{j.root, j.gitDir} {
		if d != nil {
			_ = d.Close() // nothing is pending in a directory handle
		}
	}
}

// Prepare computes and stages the result. See engine.Target and the package
// comment. Errors: conflict with every path in the way; denied, invalid,
// unsupported, unavailable as the parts report them.
func (t *Target) Prepare(ctx context.Context, req engine.TargetRequest) (json.RawMessage, error) {
	raw, err := t.prepare(ctx, req)
	if err != nil {
		err = errors.Join(err, t.Abandon(context.WithoutCancel(ctx), req.Dir, nil))
		return nil, fault.As(err)
	}
	return raw, nil
}

func (t *Target) prepare(ctx context.Context, req engine.TargetRequest) (json.RawMessage, error) {
	g := req.Resource.Git
	if g == nil {
		return nil, fault.New(fault.Invalid, "apply", "%s is not a git checkout", req.Resource.Path)
	}
	j, err := t.job(ctx, &state{
		Plan: req.Plan, Dir: req.Dir, Checkout: t.to == engine.ToCommit,
		Location: gitx.Location{GitDir: g.GitDir, CommonDir: g.CommonDir, WorkTree: req.Resource.Path},
	})
	if err != nil {
		return nil, err
	}
	defer j.close()
	head, err := j.repo.Head(ctx)
	if err != nil {
		return nil, err
	}
	if t.to == engine.ToCommit {
		err = j.checkBranch(ctx, req, head)
	} else {
		err = j.checkNewBranch(ctx, req)
	}
	if err != nil {
		return nil, err
	}
	r := &result{job: j, req: req, head: head.Commit}
	if err := r.compute(ctx); err != nil {
		return nil, err
	}
	j.New = r.tip
	if j.Checkout && j.New != j.Old {
		if err := j.planCheckout(ctx, r); err != nil {
			return nil, err
		}
	}
	if err := os.RemoveAll(j.file("work")); err != nil {
		return nil, fault.Wrap(fault.Internal, "clean up", err)
	}
	if err := syncDir(j.Dir); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(j.state)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "write the state of an apply", err)
	}
	return raw, nil
}

// stageName begins the names of ambit's own files in the git directory: the same
// for every method of one apply, different between applies.
func (j *job) stageName() string {
	sum := sha256.Sum256([]byte(j.Dir))
	plain := strings.Map(func(c rune) rune {
		if c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, j.Plan)
	return "ambit-" + plain + "-" + hex.EncodeToString(sum[:4])
}

// syncDir makes the names in a folder of the plan durable.
func syncDir(path string) error {
	d, err := fsop.OpenRoot(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// checkBranch finds the branch that ToCommit moves and everything that speaks
// against moving it.
func (j *job) checkBranch(ctx context.Context, req engine.TargetRequest, head gitx.Head) error {
	hint := "apply to a branch of its own instead: --to branch"
	if head.Branch == "" { // C42, O42
		return fault.New(fault.Conflict, "apply", "HEAD of %s is detached: there is no branch to commit to", j.Location.WorkTree).
			WithHint("switch to a branch (git switch NAME), or %s", hint)
	}
	if was := req.Resource.Git.Branch; was != "" && was != head.Branch { // C20
		return fault.New(fault.Conflict, "apply", "the plan was made on %s, but %s is checked out now", short(was), short(head.Branch)).
			WithHint("switch back (git switch %s), or %s", short(was), hint)
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"} {
		if _, err := os.Lstat(filepath.Join(j.Location.GitDir, name)); err == nil {
			return fault.New(fault.Conflict, "apply", "a merge, rebase, cherry-pick or revert is under way in %s (%s)", j.Location.WorkTree, name).
				WithHint("finish or abort it first, or %s", hint)
		}
	}
	j.Ref, j.Old = head.Branch, head.Commit
	return j.checkElsewhere(ctx, "")
}

// checkNewBranch validates the name that ToBranch publishes.
func (j *job) checkNewBranch(ctx context.Context, req engine.TargetRequest) error {
	full, err := j.repo.CheckBranch(ctx, req.Branch)
	if err != nil {
		return err
	}
	j.Ref = full
	if j.Old, err = j.repo.RefValue(ctx, full); err != nil {
		return err
	}
	if j.Old == "" {
		return nil
	}
	// The branch that a git_worktree sandbox holds for its plan may be published
	// over, as long as it still stands where the plan began.
	own := full == "refs/heads/ambit/"+req.Plan
	base := req.Resource.Git.Head
	if req.History != nil {
		base = req.History.RealBase
	}
	if own && j.Old == base {
		return j.checkElsewhere(ctx, j.planDir())
	}
	return fault.New(fault.Exists, "apply", "there is a branch %s already", req.Branch).
		WithHint("choose another name with --branch, or delete it (git branch -D %s)", req.Branch)
}

// checkElsewhere refuses to move a branch under another checkout. Checkouts
// below own, the plan's folder, do not count.
func (j *job) checkElsewhere(ctx context.Context, own string) error {
	list, err := j.repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.Branch != j.Ref || w.Prunable || w.Path == j.Location.WorkTree || sameDir(w.Path, j.Location.WorkTree) {
			continue
		}
		if rel, err := filepath.Rel(own, w.Path); own != "" && err == nil && filepath.IsLocal(rel) {
			continue
		}
		return fault.New(fault.Conflict, "apply", "branch %s is checked out in %s as well", short(j.Ref), w.Path).
			WithHint("switch that checkout to another branch, or apply to a new branch: --to branch --branch NAME")
	}
	return nil
}

// planDir is the plan's own folder, above the request's; "" when it has none.
func (j *job) planDir() string {
	for dir := j.Dir; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if filepath.Base(dir) == j.Plan {
			return dir
		}
	}
	return ""
}

func sameDir(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func short(ref string) string {
	const heads = "refs/heads/"
	if len(ref) > len(heads) && ref[:len(heads)] == heads {
		return ref[len(heads):]
	}
	return ref
}

func conflict(paths []string, format string, args ...any) *fault.Error {
	return fault.New(fault.Conflict, "apply", "%s", fmt.Sprintf(format, args...)).WithPaths(paths...)
}

// writeCode is the code for a failed write to a file of ours.
func writeCode(err error) fault.Code {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.Unavailable
	}
	return fault.CodeOf(err)
}
