// Package bounded keeps the beginning of what somebody else writes, so that
// output of unknown length costs memory of known size.
package bounded

import (
	"bytes"
	"fmt"
)

// Buffer keeps the first Max bytes that are written to it. What comes after them
// is taken and dropped, so that the writer never waits; or, with Refuse, fails the
// write, which ends most programs. It has no ReadFrom, so io.Copy cannot go round
// the bound. Not safe for concurrent use.
type Buffer struct {
	Max    int64 // in bytes
	Refuse bool

	buf  bytes.Buffer
	over bool
}

// Write takes p; it fails only with Refuse.
func (b *Buffer) Write(p []byte) (int, error) {
	room := max(0, b.Max-int64(b.buf.Len()))
	if int64(len(p)) <= room {
		return b.buf.Write(p)
	}
	b.over = true
	if b.Refuse {
		return 0, fmt.Errorf("output over %d bytes", b.Max)
	}
	b.buf.Write(p[:room])
	return len(p), nil
}

// Bytes returns what was kept. It is valid until the next Write.
func (b *Buffer) Bytes() []byte { return b.buf.Bytes() }

// String returns what was kept.
func (b *Buffer) String() string { return b.buf.String() }

// Over reports whether more was written than was kept.
func (b *Buffer) Over() bool { return b.over }
