package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
)

// stepNameMax is how long the name of a step's file may be before its suffix, in
// bytes. NAME_MAX is 255 (limits.h), on encrypted file systems such as eCryptfs 143.
const stepNameMax = 120

// stepName is a step's id as part of the name of a file: an id can be longer than
// a file system takes, and then a hash stands for what is cut off.
func stepName(id string) string {
	if len(id) <= stepNameMax {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	hash := hex.EncodeToString(sum[:8])
	return strings.ToValidUTF8(id[:stepNameMax-len(hash)-1], "") + "~" + hash
}

// logPath is where a step's output is kept, relative to the plan's folder.
func logPath(step string) string { return filepath.Join("logs", stepName(step)+".log") }

// recordPath is where it is kept which paths a step changed.
func (p *Plan) recordPath(step string) string {
	return filepath.Join(p.Dir, "steps", stepName(step)+".json")
}

// promptName is the file below handoff/ that tells an agent what to do.
func promptName(step string) string { return stepName(step) + ".prompt.md" }
