package view

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// Hash names a spec: two specs with one hash hold the same. Confinements compare
// nothing else.
func Hash(spec engine.CageSpec) (string, error) {
	b, err := json.Marshal(spec)
	if err != nil {
		return "", fault.Wrap(fault.Internal, "name confinement", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
