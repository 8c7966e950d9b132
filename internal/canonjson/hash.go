package canonjson

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ShortLen is the length of a short hash in hex digits.
const ShortLen = 16

// Transform returns JSON text in canonical form. A key that is there twice keeps
// its last value. Text after the first value is an error.
func Transform(text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // or large integers would lose digits
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read JSON: text after the value")
	}
	return Marshal(v)
}

// Sum returns the SHA-256 of canonical bytes as 64 hex digits.
func Sum(canonical []byte) string {
	h := sha256.Sum256(canonical)
	return hex.EncodeToString(h[:])
}

// Short returns the first ShortLen hex digits of Sum.
func Short(canonical []byte) string { return Sum(canonical)[:ShortLen] }

// Hash returns the short hash of v's canonical form, with Append's errors.
func Hash(v any) (string, error) {
	b, err := Marshal(v)
	if err != nil {
		return "", err
	}
	return Short(b), nil
}
