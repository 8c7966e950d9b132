package overlay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// Parts of a base; see the package comment. base.json is written last, so a base
// that has one is whole, and the folder gets its name only then.
const (
	baseTree   = "tree"
	baseIndex  = "index"
	baseRecord = "base.json"
	baseUsers  = "users"
	baseMaking = ".making-" // followed by the commit
)

// baseInfo is what is kept about a base.
type baseInfo struct {
	Commit     string              `json:"commit"`
	Tree       string              `json:"tree"`
	Repository string              `json:"repository"`
	Submodules []string            `json:"submodules,omitempty"`
	Filtered   map[string][]string `json:"filtered,omitempty"`
	MadeAt     time.Time           `json:"made_at"`
	Boot       string              `json:"boot,omitempty"` // in which it was last verified
	MovedFrom  string              `json:"moved_from,omitempty"`
}

// repoBases is the folder of one repository's bases.
type repoBases struct {
	strat *Strategy
	repo  *gitx.Repo // Plain
	dir   string     // bases/<repository>
	state string     // the state folder
	now   time.Time
}

// openBases finds the folder of a repository's bases. Repositories are told
// apart by path and by identity of the common directory: one that was removed
// and made again is another.
func (s *Strategy) openBases(ctx context.Context, basesDir string, r engine.Resource, now time.Time) (*repoBases, error) {
	real, err := s.repo(r)
	if err != nil {
		return nil, err
	}
	plain, err := real.Plain(ctx)
	if err != nil {
		return nil, err
	}
	name, err := s.basesName(r.Git.CommonDir)
	if err != nil {
		return nil, err
	}
	b := &repoBases{
		strat: s, repo: plain, now: now, state: filepath.Dir(basesDir),
		dir: filepath.Join(basesDir, name),
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder of bases: %w", err)
	}
	return b, nil
}

// basesName names the folder of a repository's bases.
func (s *Strategy) basesName(commonDir string) (string, error) {
	d, err := s.openRoot(commonDir)
	if err != nil {
		return "", err
	}
	info, err := d.Stat(".")
	if err := errors.Join(err, d.Close()); err != nil {
		return "", err
	}
	id := identityOf(info, "")
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", commonDir, id.Ino, id.Birth))
	return hex.EncodeToString(sum[:8]), nil
}

// claim makes sure that a base of the commit exists, and marks that the sandbox
// whose folder is user stands on it. It returns the base's folder. Safe for any
// number of processes at the same time.
func (b *repoBases) claim(ctx context.Context, commit, user string, progress func(engine.Progress)) (string, *baseInfo, error) {
	if !gitx.IsID(commit) {
		return "", nil, fault.New(fault.Internal, "", "%q is no commit id", commit)
	}
	unlock, err := lockRepo(ctx, b.dir)
	if err != nil {
		return "", nil, err
	}
	defer unlock()
	d, err := b.strat.openRoot(b.dir)
	if err != nil {
		return "", nil, err
	}
	defer d.Close()
	info, err := readBase(d, commit)
	switch {
	case fault.Is(err, fault.NotFound):
		info, err = b.make(ctx, d, commit, progress)
	case err == nil && info.Boot != b.strat.boot:
		err = b.recheck(ctx, d, info)
	}
	if err != nil {
		return "", nil, err
	}
	users := commit + "/" + baseUsers
	if err := d.MkdirAll(users, 0o700); err != nil {
		return "", nil, err
	}
	if err := fsop.WriteFileAtomic(d, users+"/"+userMark(user), []byte(user+"\n"), 0o600); err != nil {
		return "", nil, fmt.Errorf("mark the base as used: %w", err)
	}
	return filepath.Join(b.dir, commit), info, nil
}

func readBase(d *fsop.Dir, commit string) (*baseInfo, error) {
	raw, err := fsop.ReadFile(d, commit+"/"+baseRecord, stateLimit)
	if err != nil {
		return nil, err
	}
	var info baseInfo
	if err := json.Unmarshal(raw, &info); err != nil {
		return nil, fmt.Errorf("read %s of base %s: %w", baseRecord, commit, err)
	}
	return &info, nil
}

func writeBase(d *fsop.Dir, name string, info *baseInfo) error {
	raw, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("encode %s: %w", baseRecord, err)
	}
	return fsop.WriteFileAtomic(d, name+"/"+baseRecord, append(raw, '\n'), 0o600)
}

// recheck verifies a base once in every boot: its files were not made durable
// one by one, and a machine that lost its power may have lost some. What is not
// as git left it is written again.
func (b *repoBases) recheck(ctx context.Context, d *fsop.Dir, info *baseInfo) error {
	view := b.view(info.Commit)
	dirty, err := view.StatDirty(ctx)
	if err != nil {
		return err
	}
	var paths []string
	for _, x := range dirty {
		if x.OldMode != gitx.ModeGitlink {
			paths = append(paths, x.Path)
		}
	}
	if err := view.FillPaths(ctx, paths); err != nil {
		return err
	}
	if err := b.verify(ctx, view, info.Tree); err != nil {
		return err
	}
	info.Boot = b.strat.boot
	return writeBase(d, info.Commit, info)
}

// userMark names a sandbox's claim: short, and no path whatever the folder is called.
func userMark(user string) string {
	sum := sha256.Sum256([]byte(user))
	return hex.EncodeToString(sum[:8])
}

// release drops a sandbox's claim.
func releaseClaim(base, user string) error {
	err := os.Remove(filepath.Join(base, baseUsers, userMark(user)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// make checks a commit out into a new base: from nothing, or by moving one that
// no sandbox stands on any more. The lock is held, so what a crash left half
// made belongs to nobody.
func (b *repoBases) make(ctx context.Context, d *fsop.Dir, commit string, progress func(engine.Progress)) (*baseInfo, error) {
	entries, err := d.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		_, err := readBase(d, e.Name)
		half := gitx.IsID(e.Name) && fault.Is(err, fault.NotFound)
		if strings.HasPrefix(e.Name, baseMaking) || half {
			if err := d.RemoveAll(e.Name); err != nil {
				return nil, fmt.Errorf("remove a half made base: %w", err)
			}
		}
	}
	temp := baseMaking + commit
	info := &baseInfo{Commit: commit, Repository: b.repo.Location().CommonDir, MadeAt: b.now, Boot: b.strat.boot}
	if info.Tree, err = b.repo.TreeOf(ctx, commit); err != nil {
		return nil, err
	}
	if progress != nil {
		progress(engine.Progress{Phase: "checkout", Unit: "files"})
	}
	moved, err := b.move(ctx, d, temp, info)
	if err != nil {
		return nil, err
	}
	if !moved {
		if err := b.fill(ctx, d, temp, commit); err != nil {
			return nil, err
		}
	}
	view := b.view(temp)
	if err := b.verify(ctx, view, info.Tree); err != nil {
		return nil, err
	}
	left, err := view.Leftovers(ctx)
	if err != nil {
		return nil, err
	}
	info.Submodules, info.Filtered = left.Submodules, left.Filtered
	if err := writeBase(d, temp, info); err != nil {
		return nil, err
	}
	if err := d.Rename(temp, d, commit); err != nil {
		return nil, err
	}
	return info, d.Sync()
}

// view is git's view of a base.
func (b *repoBases) view(name string) *gitx.Repo {
	at := filepath.Join(b.dir, name)
	return b.repo.WithWorkTree(filepath.Join(at, baseTree)).WithIndex(filepath.Join(at, baseIndex))
}

// fill checks a commit out from nothing.
func (b *repoBases) fill(ctx context.Context, d *fsop.Dir, temp, commit string) error {
	if err := d.RemoveAll(temp); err != nil {
		return err
	}
	if err := d.MkdirAll(temp+"/"+baseTree, 0o755); err != nil {
		return err
	}
	if err := d.Chmod(temp, 0o700); err != nil {
		return err
	}
	return b.view(temp).Fill(ctx, commit)
}

// verify compares a base with its commit before anybody stands on it (C21): the
// index is the commit's tree, and every file still is what git has just written.
func (b *repoBases) verify(ctx context.Context, view *gitx.Repo, tree string) error {
	res, err := view.Run(ctx, gitx.Opts{Values: []string{tree}, Exits: []int{1}}, "diff-index", "--cached", "--quiet", "--end-of-options")
	if err != nil {
		return err
	}
	dirty, err := view.StatDirty(ctx)
	if err != nil {
		return err
	}
	if res.Exit == 0 && len(dirty) == 0 {
		return nil
	}
	var paths []string
	for _, x := range dirty {
		paths = append(paths, x.Path)
	}
	sort.Strings(paths)
	return fault.New(fault.Internal, "", "the checkout made for the sandbox is not the commit's tree %s", tree).WithPaths(paths...).
		WithHint("something else writes into the state folder, or the disk is failing")
}
