package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// The journal of a plan decides what an apply came to; the store is repaired
// from it. It is one file of JSON lines, each written and fsynced before what it
// announces is done. A torn last line was never a decision and is dropped.

// journalKind is what a journal line announces.
type journalKind string

const (
	journalPrepare journalKind = "prepare" // targets may have staged things; nothing real has changed
	journalCommit  journalKind = "commit"  // decided: roll forward
	journalDone    journalKind = "done"    // committed and verified
	journalUndo    journalKind = "undo"    // decided: go back
	journalUndone  journalKind = "undone"  // gone back
	journalAbandon journalKind = "abandon" // nothing happened, staged things are gone
)

// journalLine is one record.
type journalLine struct {
	At      time.Time       `json:"at"`
	Kind    journalKind     `json:"kind"`
	Apply   string          `json:"apply"`
	To      ApplyTo         `json:"to,omitempty"`
	Was     PlanStatus      `json:"was,omitempty"` // the plan's status before, for the way back
	Only    []string        `json:"only,omitempty"`
	Summary string          `json:"summary,omitempty"`
	Rest    int             `json:"rest,omitempty"`
	Targets []journalTarget `json:"targets,omitempty"`
}

// journalTarget is one target's part; targets are listed bottom-up, the order of commit.
type journalTarget struct {
	Sandbox string          `json:"sandbox"`
	To      ApplyTo         `json:"to"`
	Dir     string          `json:"dir"`
	State   json.RawMessage `json:"state,omitempty"` // nil in a prepare line
}

type journal struct{ path string }

func (p *Plan) journal() journal { return journal{path: filepath.Join(p.Dir, "journal")} }

// read returns the whole lines, oldest first.
func (j journal) read() ([]journalLine, error) {
	raw, err := os.ReadFile(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, folderFault("read journal", err)
	}
	var lines []journalLine
	for {
		i := bytes.IndexByte(raw, '\n')
		if i < 0 {
			return lines, nil // what follows the last newline is torn
		}
		var l journalLine
		if err := json.Unmarshal(raw[:i], &l); err != nil {
			return nil, fault.New(fault.Internal, "read journal", "line %d of %s is damaged", len(lines)+1, j.path).WithCause(err).
				WithHint("nothing was changed. Keep the file; the applied contents and pre-images lie beside it in apply/")
		}
		lines = append(lines, l)
		raw = raw[i+1:]
	}
}

// append writes one line durably: the line is a decision once this returns.
func (j journal) append(l journalLine) error {
	raw, err := json.Marshal(l)
	if err != nil {
		return fault.Wrap(fault.Internal, "write journal", err)
	}
	_, statErr := os.Stat(j.path)
	f, err := os.OpenFile(j.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return folderFault("write journal", err)
	}
	defer f.Close()
	end, err := wholeLines(f)
	if err != nil {
		return folderFault("write journal", err)
	}
	if _, err := f.WriteAt(append(raw, '\n'), end); err != nil {
		return folderFault("write journal", err)
	}
	if err := f.Sync(); err != nil {
		return folderFault("write journal", err)
	}
	if errors.Is(statErr, fs.ErrNotExist) {
		if err := syncDir(filepath.Dir(j.path)); err != nil {
			return folderFault("write journal", err)
		}
	}
	return nil
}

// wholeLines cuts a torn tail off and returns where the next line goes.
func wholeLines(f *os.File) (int64, error) {
	raw, err := os.ReadFile(f.Name())
	if err != nil {
		return 0, fmt.Errorf("read: %w", err)
	}
	end := int64(bytes.LastIndexByte(raw, '\n') + 1)
	if end < int64(len(raw)) {
		if err := f.Truncate(end); err != nil {
			return 0, fmt.Errorf("cut torn line: %w", err)
		}
	}
	return end, nil
}

// open returns the last apply's state: its latest line and the line that holds
// its targets' states (commit or undo), or its prepare line.
func (j journal) open() (last, states *journalLine, err error) {
	lines, err := j.read()
	if err != nil || len(lines) == 0 {
		return nil, nil, err
	}
	last = &lines[len(lines)-1]
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i].Apply == last.Apply && len(lines[i].Targets) > 0 {
			return last, &lines[i], nil
		}
	}
	return last, last, nil
}
