package fsop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// holeBlock is the unit in which WriteNew leaves holes: the block size of nearly
// every Linux file system.
const holeBlock = 4096

// WriteNew makes a new regular file of mode 0600 out of everything r gives, and
// returns it still open, with how many bytes there were and their SHA-256. Blocks
// of zeros become holes. The caller makes it durable (SyncFile) and closes it.
// On an error nothing is left behind.
func WriteNew(ctx context.Context, d *Dir, rel string, r io.Reader) (f *os.File, size int64, hexSHA256 string, err error) {
	f, err = d.Create(rel, 0o600)
	if err != nil {
		return nil, 0, "", err
	}
	size, hexSHA256, err = d.fill(ctx, f, rel, r)
	if err != nil {
		_ = f.Close()
		_ = d.Remove(rel)
		return nil, 0, "", fail("write file", d.abs(rel), err)
	}
	return f, size, hexSHA256, nil
}

func (d *Dir) fill(ctx context.Context, f *os.File, rel string, r io.Reader) (size int64, sum string, err error) {
	if err := d.before("write", rel); err != nil {
		return 0, "", err
	}
	bp, _ := copyPool.Get().(*[]byte)
	defer copyPool.Put(bp)
	h, fd := sha256.New(), int(f.Fd())
	for end := false; !end; {
		if err := context.Cause(ctx); err != nil {
			return size, "", err
		}
		n, err := io.ReadFull(r, *bp)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			end = true
		case err != nil:
			return size, "", err
		}
		h.Write((*bp)[:n])
		if err := writeData(fd, (*bp)[:n], size); err != nil {
			return size, "", err
		}
		size += int64(n)
	}
	err = ignoreIntr(func() error { return unix.Ftruncate(fd, size) })
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// writeData writes b at off, but for whole blocks of zeros. off is block-aligned.
func writeData(fd int, b []byte, off int64) error {
	for len(b) > 0 {
		n := 0
		for n < len(b) && !zeroBlock(b[n:]) {
			n += min(holeBlock, len(b)-n)
		}
		if err := pwriteAll(fd, b[:n], off); err != nil {
			return err
		}
		b, off = b[n:], off+int64(n)
		for len(b) > 0 && zeroBlock(b) {
			b, off = b[holeBlock:], off+holeBlock
		}
	}
	return nil
}

func zeroBlock(b []byte) bool {
	return len(b) >= holeBlock && bytes.Equal(b[:holeBlock], zeros[:holeBlock])
}

// SyncFile makes an open file of this directory durable; rel is its name, for messages.
func (d *Dir) SyncFile(f *os.File, rel string) error {
	if err := d.before("fsync", rel); err != nil {
		return fail("sync file", d.abs(rel), err)
	}
	return fail("sync file", d.abs(rel), ignoreIntr(f.Sync))
}
