package fsop

import (
	"crypto/rand"
	"encoding/hex"
)

// TempName returns a fresh, unguessable name for a temporary entry.
func TempName() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails, as its documentation says
	return ".ambit-" + hex.EncodeToString(b[:]) + ".tmp"
}
