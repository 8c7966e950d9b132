package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Names in TargetRequest.Dir.
const (
	recordName    = "tree.json" // the record, written before anything else is made
	stageName     = "stage"     // slots, when a rename reaches the target from here
	preName       = "pre"       // copies of what will be displaced, when it does not
	rescueName    = "rescue"    // foreign objects that could not be put back
	committedMark = "committed" // Commit is through, or an undo of it met a conflict; a stage in the target is gone
	undoneMark    = "undone"    // Undo is through
)

const recordVersion = 1

// record is all that the target knows about one apply. It is written once more
// when Prepare is through, and never changed after that.
type record struct {
	Version int       `json:"version"`
	Plan    string    `json:"plan"`
	Root    exact     `json:"root"` // absolute path of the target
	RootIno uint64    `json:"root_ino"`
	Git     bool      `json:"git,omitempty"`
	Stage   stage     `json:"stage"`
	Steps   []step    `json:"steps"`
	Modes   []dirMode `json:"modes,omitempty"`
	Want    []want    `json:"want"`
	Merged  []exact   `json:"merged,omitempty"` // paths that were merged three-way
	Kept    []exact   `json:"kept,omitempty"`   // folders that stay for files that are not the plan's
}

// stage says where the slots lie.
type stage struct {
	InTarget bool   `json:"in_target,omitempty"` // else in Dir/stage
	Name     string `json:"name"`                // relative to the target's root or to Dir
}

// op is one kind of step.
type op string

const (
	opRemove op = "remove" // the object at the path goes into the slot
	opPlace  op = "place"  // the object in the slot goes to the path, which is free
	opSwap   op = "swap"   // slot and path change their objects
)

// step is one change of a name. What is done and what is not is told by looking
// at the slot and at the path.
type step struct {
	Op   op     `json:"op"`
	Path exact  `json:"path"`
	Slot string `json:"slot"`
	Old  *ident `json:"old,omitempty"` // what lies at the path before
	New  *ident `json:"new,omitempty"` // what lies there after
}

// dirMode is a directory whose mode or attributes change, or whose mode must be
// opened for a while so that entries can be made in it.
type dirMode struct {
	Path    exact             `json:"path"`
	Ino     uint64            `json:"ino"`
	From    uint32            `json:"from"`
	To      uint32            `json:"to"`
	Wide    uint32            `json:"wide"`              // between the first step and the last
	Created bool              `json:"created,omitempty"` // by this apply: undone by taking it away
	Removed bool              `json:"removed,omitempty"` // by this apply
	Mtime   int64             `json:"mtime,omitempty"`   // of a removed one, ns
	Old     map[string][]byte `json:"old,omitempty"`     // attributes that change; nil value = absent
	New     map[string][]byte `json:"new,omitempty"`
}

// want is what a path must be in the end; nil = absent.
type want struct {
	Path  exact            `json:"path"`
	Entry *changeset.Entry `json:"entry,omitempty"`
}

// exact is a byte string that JSON keeps as it is.
type exact string

type exactBytes struct {
	Bytes []byte `json:"base64"`
}

// MarshalJSON writes a string, or an object with base64 where that would lose bytes.
func (s exact) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(s)) {
		return json.Marshal(string(s))
	}
	return json.Marshal(exactBytes{[]byte(s)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *exact) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var b exactBytes
		if err := json.Unmarshal(data, &b); err != nil {
			return err
		}
		*s = exact(b.Bytes)
		return nil
	}
	var plain string
	if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	*s = exact(plain)
	return nil
}

// state is what Prepare returns: where the record lies, and which one it is.
type state struct {
	Dir    exact  `json:"dir"`
	SHA256 string `json:"sha256"` // of the record's bytes
	// Merged and Kept repeat the record's, for the person.
	Merged []exact `json:"merged,omitempty"`
	Kept   []exact `json:"kept,omitempty"`
}

// save writes the record durably and returns the state that names it.
func (r *record) save(dir *fsop.Dir) (json.RawMessage, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "write record", err)
	}
	if err := fsop.WriteFileAtomic(dir, recordName, raw, 0o600); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	out, err := json.Marshal(state{Dir: exact(dir.Name()), SHA256: hex.EncodeToString(sum[:]), Merged: r.Merged, Kept: r.Kept})
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "write record", err)
	}
	return out, nil
}

// maxRecord bounds what is read back: a million changes have about 700 MB.
const maxRecord = 2 << 30

// loadRecord reads the record of a folder; sum, where not empty, must be its hash.
func loadRecord(dir *fsop.Dir, sum string) (*record, error) {
	raw, err := fsop.ReadFile(dir, recordName, maxRecord)
	if err != nil {
		return nil, err
	}
	if got := sha256.Sum256(raw); sum != "" && hex.EncodeToString(got[:]) != sum {
		return nil, fault.New(fault.Internal, "read record", "%s/%s is not the one that was decided on", dir.Name(), recordName).
			WithHint("nothing was changed; staged contents and pre-images lie in that folder")
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fault.Wrap(fault.Internal, "read record", err)
	}
	if r.Version != recordVersion {
		return nil, fault.New(fault.Unsupported, "read record", "%s/%s has version %d, this ambit knows %d", dir.Name(), recordName, r.Version, recordVersion).
			WithHint("finish it with the ambit that made it")
	}
	return &r, nil
}
