package overlay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ambit-run/ambit/internal/fsop"
)

// maskSeen is what a mask rests on: of each live directory that is looked
// through, and of the ignore file in it, which object it is and when it changed.
// While all of that is the same, nothing new can shine through: a name that
// comes into a directory changes its times. (Ignored files that appear in a
// directory that held none before are not shown until something else changes;
// nobody is harmed by that.) So a mask is computed again only when it must be.
const maskSeen = "mask.json"

// settle is how long a directory must have been at rest for its times to tell
// the next change from the last: kernels before 6.13 count in timer ticks.
const settle = 50 * time.Millisecond

// lookAt describes an entry so that any change of it gives another text.
func lookAt(d *fsop.Dir, path string) (text string, changed time.Time) {
	info, err := d.Stat(path)
	if err != nil {
		return "none", time.Time{}
	}
	return fmt.Sprintf("%d %d %d", info.Dev(), info.Ino, info.Ctime.UnixNano()), info.Ctime
}

// rest notes what the plan rests on. An entry that changed since git was asked
// what is ignored, or just before, is noted as unlike anything.
func (m *mask) rest(path string) {
	text, changed := lookAt(m.live, path)
	if changed.After(m.asked.Add(-settle)) {
		text = ""
	}
	m.seen[path] = text
}

// seenPair carries a path, which need not be UTF-8, through JSON.
type seenPair struct {
	Path []byte `json:"path"`
	Is   string `json:"is"`
}

func saveSeen(dir *fsop.Dir, seen map[string]string) error {
	var list []seenPair
	for _, p := range sorted(keys(seen)) {
		list = append(list, seenPair{[]byte(p), seen[p]})
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode %s: %w", maskSeen, err)
	}
	return fsop.WriteFileAtomic(dir, maskSeen, raw, 0o600)
}

// maskHolds reports whether the mask that was written last still fits.
func maskHolds(dir, live *fsop.Dir) bool {
	raw, err := fsop.ReadFile(dir, maskSeen, 64<<20)
	if err != nil {
		return false
	}
	var list []seenPair
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return false
	}
	for _, x := range list {
		if is, _ := lookAt(live, string(x.Path)); x.Is == "" || is != x.Is {
			return false
		}
	}
	return true
}

// refreshMask brings the mask up to date with the live tree.
func (s *Sandbox) refreshMask(ctx context.Context) (err error) {
	if s.bottomPath(layerMask) == "" {
		return nil
	}
	if s.maskFresh { // Create has just done it
		s.maskFresh = false
		return nil
	}
	dir, err := s.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	lower, err := s.strat.openRoot(s.st.Resource.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lower.Close()) }()
	if maskHolds(dir, lower) {
		return nil
	}
	real, err := s.strat.repo(s.st.Resource)
	if err != nil {
		return err
	}
	repo, err := real.Plain(ctx)
	if err != nil {
		return err
	}
	asked := s.strat.clock()
	ignored, err := repo.Ignored(ctx)
	if err != nil {
		return err
	}
	return s.writeMask(ctx, dir, lower, ignored, asked)
}
