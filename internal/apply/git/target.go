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
	if err := j.preflight(ctx); err != nil {
		return nil, err
	}
	r := &result{job: j, req: req, head: head.Commit}
	if err := r.compute(ctx); err != nil {
		return nil, r.besides(ctx, err)
	}
	j.New = r.tip
	if j.Checkout && j.New != j.Old {
		if err := j.planCheckout(ctx, r); err != nil {
			return nil, err
		}
		if err := j.unlocked(ctx); err != nil {
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
