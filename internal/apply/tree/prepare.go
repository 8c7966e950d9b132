package tree

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Prepare holds the changeset against the target and stages it. See
// engine.Target. On an error what was staged is dropped again as far as possible;
// Abandon finishes that.
func (t *Target) Prepare(ctx context.Context, req engine.TargetRequest) (json.RawMessage, error) {
	if req.Resource.ReadOnly {
		return nil, fault.New(fault.Denied, "prepare", "%s is read-only in this project", req.Resource.Path)
	}
	if err := t.Abandon(ctx, req.Dir, nil); err != nil { // of an attempt that was cut off
		return nil, err
	}
	root, err := t.openRoot(req.Resource.Path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := t.openDir(req.Dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	raw, err := prepare(ctx, req, root, dir)
	if err != nil {
		_ = t.Abandon(context.WithoutCancel(ctx), req.Dir, nil)
		return nil, err
	}
	return raw, nil
}

func prepare(ctx context.Context, req engine.TargetRequest, root, dir *fsop.Dir) (json.RawMessage, error) {
	fs, err := root.Statfs()
	if err != nil {
		return nil, err
	}
	if fs.ReadOnly {
		return nil, fault.New(fault.Denied, "prepare", "%s is mounted read-only", root.Name()).WithHint("mount it read-write, then apply again")
	}
	s := &survey{
		req: req, root: root, euid: uint32(os.Geteuid()), dirs: map[string]fsop.Info{}, wide: map[string]fsop.Info{},
		rules: rules{merge: req.Merge, git: req.Resource.Type == engine.TypeGitCheckout},
	}
	if s.at, err = root.Stat("."); err != nil {
		return nil, err
	}
	epoch, err := kernelTime(dir)
	if err != nil {
		return nil, err
	}
	where, err := chooseStage(req.Plan, root, dir)
	if err != nil {
		return nil, err
	}
	if err := s.judge(ctx, where.InTarget); err != nil {
		return nil, err
	}
	rec := &record{Version: recordVersion, Plan: req.Plan, Root: exact(root.Name()), RootIno: s.at.Ino, Git: s.rules.git, Stage: where}
	rec.Steps, rec.Modes, rec.Want = s.layOut(epoch)
	for _, p := range s.paths {
		if it := s.items[p]; it.keep {
			rec.Kept = append(rec.Kept, exact(p))
		} else if it.merged != nil {
			rec.Merged = append(rec.Merged, exact(p))
		}
	}
	if err := s.roomFor(dir, where.InTarget); err != nil {
		return nil, err
	}
	return s.stage(ctx, rec, dir)
}

// judge reads the target and decides, or says everything that stands in the way.
func (s *survey) judge(ctx context.Context, inTarget bool) error {
	if err := s.takeItems(); err != nil {
		return err
	}
	if err := s.look(ctx); err != nil {
		return err
	}
	if err := s.decideAll(ctx); err != nil {
		return err
	}
	if err := s.checkParents(); err != nil {
		return err
	}
	if err := s.checkRemovals(); err != nil {
		return err
	}
	refused, err := s.checkObjects(inTarget)
	if err != nil {
		return err
	}
	if err := s.found.err(fault.Conflict, "prepare"); err != nil {
		return err
	}
	return refused.err(fault.Denied, "prepare")
}

// roomFor checks free space and inodes before anything is written.
func (s *survey) roomFor(dir *fsop.Dir, inTarget bool) error {
	staged, copied := s.measure()
	if !inTarget {
		return staged.check(dir, "apply")
	}
	if err := staged.check(s.root, "apply"); err != nil {
		return err
	}
	return copied.check(dir, "apply")
}

// stage makes the slots and fills them, then writes the record that a decision
// can rely on.
func (s *survey) stage(ctx context.Context, rec *record, dir *fsop.Dir) (json.RawMessage, error) {
	if rec.Stage.InTarget { // what is made outside of Dir is recorded first
		announced := *rec
		announced.Steps, announced.Modes, announced.Want = nil, nil, nil
		if _, err := announced.save(dir); err != nil {
			return nil, err
		}
		if err := keepPre(ctx, s.root, dir, rec.Steps); err != nil {
			return nil, err
		}
	}
	slots, err := rec.Stage.make(s.root, dir)
	if err != nil {
		return nil, err
	}
	defer slots.Close()
	filler := &stager{survey: s, slots: slots}
	if err := filler.fill(ctx, rec.Steps); err != nil {
		return nil, err
	}
	return rec.save(dir)
}

// kernelTime is the time by which the kernel stamps changes.
func kernelTime(dir *fsop.Dir) (time.Time, error) {
	name := fsop.TempName()
	if err := dir.Symlink("now", name); err != nil {
		return time.Time{}, err
	}
	info, err := dir.Stat(name)
	if rerr := dir.Remove(name); err == nil {
		err = rerr
	}
	return info.Ctime, err
}
