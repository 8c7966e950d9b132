package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// The trash has two limits: how long a discarded plan is kept, and how much all
// of them may hold. What is over goes for good, the oldest first; the newest, the
// one whose loss would surprise, never goes because of its size.

// Unlimited as Config.TrashBytes keeps discarded plans whatever they hold.
const Unlimited = -1

const (
	defaultTrashAge   = 30 * 24 * time.Hour
	defaultTrashBytes = 10 << 30
	// trashCheck and trashSmall spare a discard the look at all others, as long as
	// the size that was counted last and what came since stay within the limit.
	trashCheck = time.Hour
	trashSmall = 16 << 20
)

// folderBytes is what a folder takes on the disk, as far as it may be looked at;
// blocks that are shared with an original count as well.
func (e *Engine) folderBytes(ctx context.Context, path string) int64 {
	d, err := fsop.OpenRoot(path)
	if err != nil {
		return 0
	}
	defer d.Close()
	var n int64
	opts := fsop.WalkOptions{StayOnMount: true, OnError: func(string, error) error { return nil }}
	if err := d.Walk(ctx, ".", opts, func(_ string, info fsop.Info) error { n += info.Blocks * 512; return nil }); err != nil {
		return n // what was seen counts
	}
	return n
}

// trashStamp is a file that holds when the trash was looked at last, and how much
// it has held since, at most.
func (e *Engine) trashStamp() string { return filepath.Join(e.cfg.StateDir, "trash.checked") }

func (e *Engine) stampTrash(at time.Time, held int64) error {
	return writeDurable(e.trashStamp(), fmt.Appendf(nil, "%s %d", at.Format(time.RFC3339), held))
}

// trashDue reports whether the limits have to be looked at after a plan was
// discarded. Where they have not, the plan is added to what the stamp says.
func (e *Engine) trashDue(p *Plan) bool {
	raw, err := os.ReadFile(e.trashStamp())
	if err != nil || p.TrashBytes >= trashSmall {
		return true
	}
	when, size, _ := strings.Cut(string(raw), " ")
	last, err := time.Parse(time.RFC3339, when)
	since := e.deps.Now().Sub(last)
	if err != nil || since < 0 || since >= trashCheck {
		return true
	}
	held, err := strconv.ParseInt(size, 10, 64)
	held += p.TrashBytes
	if err != nil || e.cfg.TrashBytes != Unlimited && held > e.cfg.TrashBytes {
		return true
	}
	return e.stampTrash(last, held) != nil
}

// emptyTrash removes discarded plans that are over the limits, with what they made
// outside their folder. keep is a plan that this process holds, or "". A plan that
// refuses to go stays and is named.
func (e *Engine) emptyTrash(ctx context.Context, keep string) []string {
	ps, err := e.deps.Store.FindPlans(ctx, PlanQuery{Status: []PlanStatus{PlanDiscarded}})
	if err != nil {
		return []string{"the trash was not looked at: " + err.Error()}
	}
	slices.SortFunc(ps, func(a, b *Plan) int { return a.DiscardedAt.Compare(b.DiscardedAt) })
	var held int64
	for _, p := range ps {
		if p.TrashBytes == 0 { // discarded by an ambit that did not count
			p.TrashBytes = e.folderBytes(ctx, filepath.Join(e.trashDir(), p.ID))
		}
		held += p.TrashBytes
	}
	var said []string
	for i, p := range ps {
		why := ""
		switch {
		case p.ID == keep:
			continue
		case e.deps.Now().Sub(p.DiscardedAt) >= e.cfg.TrashAge:
		case e.cfg.TrashBytes != Unlimited && held > e.cfg.TrashBytes && i < len(ps)-1:
			why = fmt.Sprintf(", because the trash held more than %d MB", e.cfg.TrashBytes/1e6)
		default:
			continue
		}
		switch gone, err := e.purge(ctx, p); {
		case err != nil:
			said = append(said, "kept discarded plan "+p.ID+": "+err.Error())
		case gone:
			held -= p.TrashBytes
			said = append(said, "removed plan "+p.ID+" for good, discarded "+p.DiscardedAt.Local().Format("2006-01-02 15:04")+why)
		}
	}
	if err := e.stampTrash(e.deps.Now(), held); err != nil {
		said = append(said, "the look at the trash was not noted: "+err.Error())
	}
	return said
}

// purge destroys a discarded plan for good, at the place its sandboxes know. It
// reports false for one that somebody else has restored or removed meanwhile.
func (e *Engine) purge(ctx context.Context, p *Plan) (bool, error) {
	from := filepath.Join(e.trashDir(), p.ID)
	if _, err := os.Lstat(from); err == nil {
		if err := os.Rename(from, p.Dir); err != nil {
			return false, folderFault("empty trash", err)
		}
	}
	if _, err := os.Lstat(p.Dir); err != nil { // only the row is left
		return true, e.unstage(ctx, p)
	}
	lock, err := e.lockPlan(ctx, p.ID, p.Dir, "empty trash")
	if fault.Is(err, fault.Conflict) || fault.Is(err, fault.NotFound) {
		return false, nil // being restored, or gone
	}
	if err != nil {
		return false, err
	}
	defer lock.file.Close()
	now, err := e.deps.Store.Plan(ctx, p.ID)
	if err != nil || now.Status != PlanDiscarded {
		return false, errors.Join(err, lock.unlock(ctx))
	}
	if err := e.unstage(ctx, p); err != nil {
		// Back to the trash while it is still ours: unlocked, it could be restored first.
		return false, errors.Join(err, e.finishDiscard(ctx, p), lock.unlock(ctx))
	}
	return true, e.deps.Store.ReleaseLease(context.WithoutCancel(ctx), lock.lease)
}

// BaseKeeper is a Strategy that keeps clean checkouts for several sandboxes.
type BaseKeeper interface {
	// CollectBases removes the checkouts of repositories that are gone, where no
	// sandbox stands on them, and says which. stands tells whether a sandbox's
	// folder still belongs to a plan.
	CollectBases(ctx context.Context, basesDir string, stands func(sandboxDir string) bool) ([]string, error)
}

// collectBases removes what repositories that are gone left in the state folder.
func (e *Engine) collectBases(ctx context.Context) []string {
	stands := func(dir string) bool {
		rel, err := filepath.Rel(e.plansDir(), dir)
		if err != nil || !filepath.IsLocal(rel) {
			return true // not understood: left alone
		}
		for _, root := range []string{e.plansDir(), e.trashDir()} {
			if _, err := os.Lstat(filepath.Join(root, rel)); !errors.Is(err, os.ErrNotExist) {
				return true
			}
		}
		return false
	}
	var said []string
	for _, s := range e.deps.Strategies {
		k, ok := s.(BaseKeeper)
		if !ok {
			continue
		}
		gone, err := k.CollectBases(ctx, e.basesDir(), stands)
		for _, g := range gone {
			said = append(said, "removed the clean checkouts of "+g+", which is gone")
		}
		if err != nil {
			said = append(said, "some clean checkouts were not looked at: "+err.Error())
		}
	}
	return said
}
