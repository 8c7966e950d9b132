package overlay

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// indexEntry is what is wanted of one entry of git's index: the path, and what the
// file was when git last looked.
type indexEntry struct {
	path     string
	uid, gid uint32
	stated   bool // git looked at a file; else the numbers mean nothing

	mtime, mtimeNsec uint32
	ino, size        uint32 // the lower 32 bits
	mode             uint32 // git's own: 0100644, 0100755, 0120000
	id               string // of the blob, as bytes
}

// The layout of an index entry, versions 2 to 4 (gitformat-index(5)): ten 32-bit
// numbers (ctime, mtime, device, inode, mode, uid, gid, size), the object id, 16
// bits of flags, 16 more if the extended bit is set, the path.
const (
	indexHeader   = 12
	indexStat     = 40
	indexMtime    = 8
	indexIno      = 20
	indexMode     = 24
	indexSize     = 36
	indexUID      = 28
	indexGID      = 32
	indexExtended = 0x4000
	indexNameMask = 0x0fff
)

// eachIndexEntry reads an index file. idLen is the length of an object id in
// bytes. An index that is split or sparse does not name every file: complete is
// false then. Git is not asked because this is wanted before every sandbox, and
// listing a large index through a pipe takes longer than making the sandbox.
func eachIndexEntry(raw []byte, idLen int, fn func(indexEntry) bool) (complete bool, err error) {
	if len(raw) < indexHeader+idLen || string(raw[:4]) != "DIRC" {
		return false, fmt.Errorf("read index: not an index")
	}
	version, count := binary.BigEndian.Uint32(raw[4:]), binary.BigEndian.Uint32(raw[8:])
	if version < 2 || version > 4 {
		return false, fmt.Errorf("read index: version %d", version)
	}
	rest := raw[indexHeader : len(raw)-idLen]
	var name []byte
	for range count {
		head := indexStat + idLen + 2
		if len(rest) < head {
			return false, fmt.Errorf("read index: cut off")
		}
		number := func(at int) uint32 { return binary.BigEndian.Uint32(rest[at:]) }
		e := indexEntry{
			uid: number(indexUID), gid: number(indexGID), mtime: number(indexMtime), mtimeNsec: number(indexMtime + 4),
			ino: number(indexIno), mode: number(indexMode), size: number(indexSize), id: string(rest[indexStat : indexStat+idLen]),
		}
		e.stated = !bytes.Equal(rest[:8], make([]byte, 8))
		flags := binary.BigEndian.Uint16(rest[head-2:])
		if flags&indexExtended != 0 {
			head += 2
		}
		if len(rest) < head {
			return false, fmt.Errorf("read index: cut off")
		}
		used := head
		if version == 4 {
			strip, n := indexVarint(rest[head:])
			end := bytes.IndexByte(rest[min(len(rest), head+max(n, 0)):], 0)
			if n <= 0 || end < 0 || strip > len(name) {
				return false, fmt.Errorf("read index: bad path")
			}
			name = append(name[:len(name)-strip], rest[head+n:head+n+end]...)
			used += n + end + 1
		} else {
			end := bytes.IndexByte(rest[head:], 0)
			if end < 0 {
				return false, fmt.Errorf("read index: bad path")
			}
			name = append(name[:0], rest[head:head+end]...)
			used = (head + end + 8) &^ 7
			if used > len(rest) {
				return false, fmt.Errorf("read index: cut off")
			}
		}
		e.path = string(name)
		rest = rest[used:]
		if !fn(e) {
			return false, nil
		}
	}
	return indexIsWhole(rest), nil
}

// indexIsWhole reports whether no extension says that entries lie elsewhere
// ("link", a split index) or stand for directories ("sdir", a sparse one).
func indexIsWhole(ext []byte) bool {
	for len(ext) >= 8 {
		if name := string(ext[:4]); name == "link" || name == "sdir" {
			return false
		}
		size := int64(binary.BigEndian.Uint32(ext[4:]))
		if size > int64(len(ext)-8) {
			return false
		}
		ext = ext[8+size:]
	}
	return true
}

// indexVarint reads git's offset encoding: seven bits a byte, high bits first,
// each continued byte adding one.
func indexVarint(b []byte) (value, n int) {
	for i, c := range b {
		if i > 4 {
			return 0, -1
		}
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
		value++
	}
	return 0, -1
}
