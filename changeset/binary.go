package changeset

import (
	"bytes"
	"compress/zlib"
	"fmt"
)

// binary writes a binary file: named, or carried in git's literal form.
func (d *differ) binary(c *Change, old, new *blob) {
	if !d.opts.BinaryPatch {
		d.header(c)
		d.index(c, old, new, shortOID)
		d.line("", differLine("Binary files", c))
		return
	}
	d.header(c)
	d.index(c, old, new, len(zeroOID)) // git checks the contents against full ids
	d.line("", "GIT binary patch")
	d.literal(new.data)
	d.literal(old.data) // the way back
}

// literal writes contents deflated and in git's base 85, 52 bytes a line, each
// line led by its length (A-Z for 1-26, a-z for 27-52).
func (d *differ) literal(data string) {
	d.line("", fmt.Sprintf("literal %d", len(data)))
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err := z.Write([]byte(data))
	if cerr := z.Close(); err == nil {
		err = cerr
	}
	if err != nil { // a bytes.Buffer does not fail
		d.errs = append(d.errs, fmt.Errorf("deflate: %w", err))
	}
	for rest := packed.Bytes(); len(rest) > 0; {
		n := min(52, len(rest))
		lead := byte('A' + n - 1)
		if n > 26 {
			lead = byte('a' + n - 27)
		}
		d.line("", string(lead)+base85(rest[:n]))
		rest = rest[n:]
	}
	d.line("", "")
}

// base85 encodes four bytes, the last ones padded by zeros, as five digits.
func base85(p []byte) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
	out := make([]byte, 0, (len(p)+3)/4*5)
	for len(p) > 0 {
		var v uint32
		for i := range 4 {
			v <<= 8
			if i < len(p) {
				v |= uint32(p[i])
			}
		}
		p = p[min(4, len(p)):]
		var group [5]byte
		for i := 4; i >= 0; i-- {
			group[i] = digits[v%85]
			v /= 85
		}
		out = append(out, group[:]...)
	}
	return string(out)
}
