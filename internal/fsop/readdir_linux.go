package fsop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	direntHeader = 19        // d_ino 8, d_off 8, d_reclen 2, d_type 1
	direntBuffer = 64 * 1024 // what one getdents64 call may fill
)

var direntPool = sync.Pool{New: func() any { b := make([]byte, direntBuffer); return &b }}

// readSome appends the next part of a directory to entries; more is false at the end.
func readSome(fd int, buf []byte, entries []Entry) (_ []Entry, more bool, err error) {
	n, err := retryIntr(func() (int, error) { return unix.Getdents(fd, buf) })
	if err != nil {
		return entries, false, err
	}
	for b := buf[:n]; len(b) >= direntHeader; {
		reclen := int(binary.NativeEndian.Uint16(b[16:18]))
		if reclen < direntHeader || reclen > len(b) {
			return entries, false, unix.EIO
		}
		name, kind := b[direntHeader:reclen], kindOfDirent(b[18])
		b = b[reclen:]
		if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		// A name with a slash can only come from a broken or hostile file system
		// (FUSE, network); it must not become a path.
		if len(name) == 0 || bytes.IndexByte(name, '/') >= 0 {
			return entries, false, unix.EIO
		}
		if string(name) != "." && string(name) != ".." {
			entries = append(entries, Entry{Name: string(name), Kind: kind})
		}
	}
	return entries, n > 0, nil
}

// readAll reads a directory to its end, sorted by name bytes, kinds filled in.
func readAll(fd int) ([]Entry, error) {
	bp, _ := direntPool.Get().(*[]byte)
	defer direntPool.Put(bp)
	var entries []Entry
	for more := true; more; {
		var err error
		if entries, more, err = readSome(fd, *bp, entries); err != nil {
			return nil, err
		}
	}
	known := entries[:0]
	for _, e := range entries {
		if e.Kind == KindUnknown {
			info, err := statName(fd, e.Name)
			if errors.Is(err, unix.ENOENT) {
				continue // gone meanwhile
			}
			if err != nil {
				return nil, err
			}
			e.Kind = info.Kind
		}
		known = append(known, e)
	}
	slices.SortFunc(known, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return known, nil
}

func kindOfDirent(t byte) Kind {
	switch t {
	case unix.DT_REG:
		return KindFile
	case unix.DT_DIR:
		return KindDir
	case unix.DT_LNK:
		return KindSymlink
	case unix.DT_FIFO:
		return KindFIFO
	case unix.DT_SOCK:
		return KindSocket
	case unix.DT_CHR:
		return KindCharDev
	case unix.DT_BLK:
		return KindBlockDev
	}
	return KindUnknown
}

// ReadDir lists a directory, sorted by name bytes.
func (d *Dir) ReadDir(rel string) ([]Entry, error) {
	fd, err := d.open("read directory", rel, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := d.before("getdents", rel); err != nil {
		return nil, fail("read directory", d.abs(rel), err)
	}
	entries, err := readAll(fd)
	if err != nil {
		return nil, fail("read directory", d.abs(rel), err)
	}
	return entries, nil
}
