package overlay

import (
	"fmt"
	"time"

	"github.com/ambit-run/ambit/internal/fsop"
)

// stamp is the instant of creation as a file system's change time, which no
// program can set. A path of the lower whose change time is not before it
// changed after the sandbox was made.
//
// The stamped file lies in the sandbox's own folder: nothing is written into the
// lower for ambit's needs. Where both lie on one file system the two times come
// from one clock with one granularity; otherwise the threshold is moved back by
// the lower's granularity, so that doubt counts as drift.
type stamp struct {
	Threshold time.Time `json:"threshold"`
	SameFS    bool      `json:"same_fs"`
	Notice    string    `json:"notice,omitempty"`
}

// after reports whether the entry changed after the sandbox was made.
func (s stamp) after(info fsop.Info) bool { return !info.Ctime.Before(s.Threshold) }

const (
	stampFile = "stamp"
	// networkSlack is how far the clock of a file server may be behind ours
	// before drift goes unnoticed.
	networkSlack = 2 * time.Second
)

// takeStamp stamps a file in dir and compares its clock with the lower's.
func takeStamp(dir, lower *fsop.Dir) (stamp, error) {
	f, err := dir.Create(stampFile, 0o600)
	if err != nil {
		return stamp{}, err
	}
	defer f.Close()
	// Looked at and written again: kernels with fine-grained change times hand
	// one out only to a file whose time somebody has read.
	for range 2 {
		if _, err := dir.Stat(stampFile); err != nil {
			return stamp{}, err
		}
		if _, err := f.Write([]byte("x")); err != nil {
			return stamp{}, fmt.Errorf("stamp the creation: %w", err)
		}
	}
	mine, err := dir.Stat(stampFile)
	if err != nil {
		return stamp{}, err
	}
	theirs, err := lower.Stat(".")
	if err != nil {
		return stamp{}, err
	}
	if mine.Dev() == theirs.Dev() {
		return stamp{Threshold: mine.Ctime, SameFS: true}, nil
	}
	fs, err := lower.Statfs()
	if err != nil {
		return stamp{}, err
	}
	s := stamp{Threshold: mine.Ctime}
	switch grain := granularity(lower); {
	case fs.Type == "nfs" || fs.Type == "cifs" || fs.Type == "smb2" || fs.Type == "9p" || fs.Type == "ceph":
		s.Threshold = mine.Ctime.Add(-networkSlack)
		s.Notice = fmt.Sprintf("the resource is on %s, whose server has a clock of its own: what you change in it meanwhile is noticed only if that clock is less than %s behind", fs.Type, networkSlack)
	case grain > 0:
		s.Threshold = mine.Ctime.Truncate(grain)
		s.Notice = fmt.Sprintf("change times on the resource's file system (%s) have a granularity of %s: what changed just before the start counts as changed meanwhile", fs.Type, grain)
	}
	return s, nil
}

// granularity guesses a file system's timestamp granularity from a few entries:
// zero when any has a fraction of a second, else one second.
func granularity(d *fsop.Dir) time.Duration {
	entries, err := d.ReadDir(".")
	if err != nil {
		return time.Second
	}
	names := []string{"."}
	for i := 0; i < len(entries) && i < 16; i++ {
		names = append(names, entries[i].Name)
	}
	for _, name := range names {
		if info, err := d.Stat(name); err == nil && info.Ctime.Nanosecond() != 0 {
			return 0
		}
	}
	return time.Second
}
