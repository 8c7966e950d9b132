package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Circumstanced is a Confiner whose Probe is dear, and that can name cheaply all
// that the answer depends on.
type Circumstanced interface {
	// Circumstances names the machine, user, namespaces, limits and policies under
	// which Probe would be asked now. While it stays the same, in the same boot, so
	// does what the machine offers. Empty when that cannot be told.
	Circumstances() string
}

// probeRung is Confiner.Probe, remembered while this build, boot and the
// circumstances stay the same, if the answer was that the rung is to be had. What
// is remembered only chooses the rung: whatever has changed unnoticed meanwhile
// makes opening it fail, and the boundary is proved as ever.
func (e *Engine) probeRung(ctx context.Context, c Confiner) (Probe, error) {
	note := e.probeNote(c)
	if raw, err := os.ReadFile(note); note != "" && err == nil {
		var p Probe
		if json.Unmarshal(raw, &p) == nil && p.OK {
			return p, nil
		}
	}
	p, err := c.Probe(ctx)
	if err != nil || !p.OK || note == "" {
		return p, err
	}
	raw, err := json.Marshal(p)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(note), 0o700), writeDurable(note, raw))
	}
	if err != nil {
		return p, folderFault("keep what the machine offers", err)
	}
	return p, nil
}

// forgetProbe drops what is remembered of a rung that turned out not to be had.
func (e *Engine) forgetProbe(c Confiner) {
	if note := e.probeNote(c); note != "" {
		_ = os.Remove(note) // one that stays makes the next command fail the same way
	}
}

// probeNote is where a rung's probe is remembered; empty when it cannot be.
func (e *Engine) probeNote(c Confiner) string {
	of, ok := c.(Circumstanced)
	if !ok || e.deps.Self.BootID == "" {
		return ""
	}
	now := of.Circumstances()
	if now == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%s\x00%s", e.cfg.Version, e.deps.Self.BootID, e.cfg.UID, c.Rung(), now))
	return filepath.Join(e.cfg.StateDir, "proofs", "rung-"+hex.EncodeToString(sum[:12])+".json")
}
