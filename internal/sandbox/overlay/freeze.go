package overlay

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// What a sandbox's repository must not share with the real one, because there it
// moves on: copied as it is now, or hidden where there is nothing now.
var (
	frozenOfGitDir = []string{"index", "config.worktree"}
	// Work that the person has under way belongs to the person's branch; inside,
	// HEAD is on another. Locks are held by processes outside.
	hiddenOfGitDir = []string{
		"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD",
		"REBASE_HEAD", "BISECT_LOG", "BISECT_START", "rebase-merge", "rebase-apply", "sequencer",
		"index.lock", "HEAD.lock", "config.worktree.lock",
	}
	hiddenOfCommon = []string{"config.lock", "packed-refs.lock", "shallow.lock", "gc.pid"}
)

// underWay are the names by which an unfinished operation is recognised.
var underWay = map[string]string{
	"MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert",
	"rebase-merge": "a rebase", "rebase-apply": "a rebase or am", "BISECT_LOG": "a bisection",
}

// calmConfig is added to the sandbox's copy of the configuration: nothing of
// git's own runs in the background there, and no monitor of the real tree is
// asked about the sandbox's.
const calmConfig = "\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[core]\n\tfsmonitor = false\n"

// freezer writes what a repository's sandbox needs of its own into a layer.
type freezer struct {
	real  *fsop.Dir // gitPlace.root
	layer *fsop.Dir // the layer's part for it
	at    gitPlace
	made  map[string]bool // directories that are there already
}

// mkdirs makes a directory of the layer and those above it, each looking like
// the real one, since the topmost layer's attributes are the ones that are seen.
func (f *freezer) mkdirs(rel string) error {
	if rel == "." || f.made[rel] {
		return nil
	}
	parent, _ := fsop.SplitRel(rel)
	if err := f.mkdirs(parent); err != nil {
		return err
	}
	mode := uint32(0o755)
	info, err := f.real.Stat(rel)
	switch {
	case err == nil:
		mode = info.Mode
	case absent(err) != nil:
		return err
	}
	if err := f.layer.Mkdir(rel, mode); err != nil && !fault.Is(err, fault.Exists) {
		return err
	}
	f.made[rel] = true
	return nil
}

// keep copies a file as it is now, or hides the name where there is none.
func (f *freezer) keep(ctx context.Context, rel string) error {
	dir, _ := fsop.SplitRel(rel)
	if err := f.mkdirs(dir); err != nil {
		return err
	}
	for range 3 {
		res, err := fsop.CopyFile(ctx, f.real, rel, f.layer, rel, fsop.CopyOptions{Replace: true})
		if err != nil {
			if absent(err) == nil {
				return f.hide(rel)
			}
			return fmt.Errorf("copy %s: %w", rel, err)
		}
		if !res.Unstable {
			return nil
		}
	}
	return fault.New(fault.Unavailable, "", "%s is being written to all the time", rel).WithHint("try again when git is at rest in the checkout")
}

// hide removes a name from the view, also one that appears below later.
func (f *freezer) hide(rel string) error {
	dir, _ := fsop.SplitRel(rel)
	if err := f.mkdirs(dir); err != nil {
		return err
	}
	return whiteout(f.layer, rel)
}

// whiteout makes the marker by which an overlay removes a name of the layers
// below. It needs no privilege since Linux 5.8.
func whiteout(d *fsop.Dir, rel string) error {
	const charDevice = 0o020000
	if err := d.Mknod(rel, charDevice, 0); err != nil {
		return fmt.Errorf("hide %s: %w", rel, err)
	}
	return nil
}

// write makes a small file of the layer.
func (f *freezer) write(rel, content string) error {
	dir, _ := fsop.SplitRel(rel)
	if err := f.mkdirs(dir); err != nil {
		return err
	}
	file, err := f.layer.Create(rel, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.WriteString(content); err != nil {
		return fmt.Errorf("write %s: %w", rel, err)
	}
	return nil
}

// git writes the repository of the sandbox: HEAD on its own branch at tip, every
// reference as it is now, index and configuration. tip is empty before the first
// commit. keepIndex is false where the index is written by somebody else.
func (f *freezer) git(ctx context.Context, refs []gitx.Ref, branch, tip string, keepIndex bool) error {
	common := func(name string) string { return fsop.Join(f.at.common, name) }
	gitDir := func(name string) string { return fsop.Join(f.at.gitDir, name) }
	if err := f.refs(refs, branch, tip); err != nil {
		return err
	}
	if err := f.write(gitDir("HEAD"), "ref: "+branch+"\n"); err != nil {
		return err
	}
	if f.at.common != f.at.gitDir {
		if err := f.keep(ctx, common("HEAD")); err != nil {
			return err
		}
	}
	if err := f.config(ctx, common("config")); err != nil {
		return err
	}
	for _, name := range frozenOfGitDir {
		if name == "index" && !keepIndex {
			continue
		}
		if err := f.keep(ctx, gitDir(name)); err != nil {
			return err
		}
	}
	for _, name := range hiddenOfGitDir {
		if err := f.hide(gitDir(name)); err != nil {
			return err
		}
	}
	for _, name := range hiddenOfCommon {
		if err := f.hide(common(name)); err != nil {
			return err
		}
	}
	return nil
}

// refs freezes all references: packed, under an opaque refs folder, so that
// none that is made, moved, packed or deleted outside later is seen inside.
func (f *freezer) refs(refs []gitx.Ref, branch, tip string) error {
	dir := fsop.Join(f.at.common, "refs")
	for _, sub := range []string{"heads", "tags"} {
		if err := f.mkdirs(dir + "/" + sub); err != nil {
			return err
		}
	}
	if err := f.layer.SetXattr(dir, xattrUserOpaque, []byte("y")); err != nil {
		return fmt.Errorf("make refs opaque: %w", err)
	}
	var all []gitx.Ref
	for _, r := range refs {
		switch {
		case r.Name == branch:
			continue // made anew below
		case strings.HasPrefix(branch, r.Name+"/"):
			return fault.New(fault.Conflict, "", "the branch %s is in the way: the sandbox works on %s", short(r.Name), short(branch)).
				WithHint("rename it: git branch -m %s %s-old", short(r.Name), short(r.Name))
		case r.Target != "":
			if err := f.write(fsop.Join(f.at.common, r.Name), "ref: "+r.Target+"\n"); err != nil {
				return err
			}
			continue
		}
		all = append(all, r)
	}
	if tip != "" {
		all = append(all, gitx.Ref{Name: branch, Object: tip})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return f.write(fsop.Join(f.at.common, "packed-refs"), gitx.PackedRefs(all))
}

func short(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }

// configLimit is far above any configuration that was written by people.
const configLimit = 4 << 20

func (f *freezer) config(_ context.Context, rel string) error {
	raw, err := fsop.ReadFile(f.real, rel, configLimit)
	if err != nil && absent(err) != nil {
		return fmt.Errorf("read %s: %w", rel, err)
	}
	return f.write(rel, string(raw)+calmConfig)
}

// unfinished names the operation that is under way in the real checkout, if any.
func (f *freezer) unfinished() string {
	for _, name := range hiddenOfGitDir {
		what, ok := underWay[name]
		if !ok {
			continue
		}
		if _, err := f.real.Stat(fsop.Join(f.at.gitDir, name)); err == nil {
			return what
		}
	}
	return ""
}
