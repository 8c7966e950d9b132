package statefile

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// Name is the file's name in a sandbox's folder.
const Name = "sandbox.json"

// limit bounds what is read, in bytes; a record of thousands of checkpoints is far below it.
const limit = 16 << 20

// Load reads the state of the sandbox whose folder is d. S must have the member
// "format", which has to be the number given; work says, in a sentence, where the
// sandbox's work still lies when the file is damaged. Errors: not_found when the sandbox was never
// finished, internal when the file is damaged, unsupported for another format.
func Load[S any](d *fsop.Dir, format int, work string) (*S, error) {
	const op = "read sandbox state"
	raw, err := fsop.ReadFile(d, Name, limit)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(d.Name(), Name)
	damaged := func(err error) error {
		return fault.New(fault.Internal, op, "%s is damaged", path).WithCause(err).
			WithHint("%s; keep the folder and report this", work)
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, damaged(err)
	}
	if head.Format != format {
		return nil, fault.New(fault.Unsupported, op, "%s has format %d, this version reads %d", path, head.Format, format).
			WithHint("use the version of ambit that made it")
	}
	st := new(S)
	if err := json.Unmarshal(raw, st); err != nil {
		return nil, damaged(err)
	}
	return st, nil
}

// Save replaces the state of the sandbox whose folder is d.
func Save(d *fsop.Dir, st any) error {
	raw, err := json.MarshalIndent(st, "", " ")
	if err != nil {
		return fmt.Errorf("encode sandbox state: %w", err)
	}
	if err := fsop.WriteFileAtomic(d, Name, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("write sandbox state: %w", err)
	}
	return nil
}
