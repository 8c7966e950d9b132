package copytree

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// A manifest's file is a magic word, variable-length integers and strings that
// follow their length, and the SHA-256 of all that. Paths and link texts are
// bytes, a hundred thousand entries are read in milliseconds, and a damaged file
// is recognised as a whole.
const manifestMagic = "ambit manifest 1\n"

// manifestLimit bounds what is read back: some ten million paths.
const manifestLimit = 2 << 30

func hexOf(raw string) string { return hex.EncodeToString([]byte(raw)) }

func rawOf(hexHash string) string {
	b, err := hex.DecodeString(hexHash)
	if err != nil || len(b) != sha256.Size {
		return ""
	}
	return string(b)
}

const (
	flagShared = 1 << iota
	flagDamaged
)

func (m *manifest) encode() []byte {
	w := writer{b: append(make([]byte, 0, 128*len(m.entries)+256), manifestMagic...)}
	w.str(m.boot)
	w.int(m.stamp)
	w.uint(uint64(len(m.entries)))
	for i := range m.entries {
		e := &m.entries[i]
		w.str(e.path)
		w.uint(uint64(e.kind))
		w.uint(uint64(e.mode))
		w.uint(uint64(e.uid))
		w.uint(uint64(e.gid))
		w.uint(e.rdev)
		w.int(e.size)
		w.int(e.mtime)
		w.str(e.hash)
		w.str(e.link)
		w.uint(uint64(len(e.xattrs)))
		for _, name := range slices.Sorted(maps.Keys(e.xattrs)) {
			w.str(name)
			w.str(e.xattrs[name])
		}
		var flags uint64
		if e.shared {
			flags |= flagShared
		}
		if e.damaged {
			flags |= flagDamaged
		}
		w.uint(flags)
		w.uint(e.ino)
		w.int(e.ctime)
	}
	w.uint(uint64(len(m.skipped)))
	for _, s := range m.skipped {
		w.str(s.Path)
		w.str(s.Reason)
	}
	sum := sha256.Sum256(w.b)
	return append(w.b, sum[:]...)
}

func decodeManifest(b []byte) (*manifest, error) {
	body := len(b) - sha256.Size
	if body < len(manifestMagic) || string(b[:len(manifestMagic)]) != manifestMagic ||
		sha256.Sum256(b[:body]) != [sha256.Size]byte(b[body:]) {
		return nil, fault.New(fault.Internal, "read manifest", "the manifest is damaged").
			WithHint("the tree and the contents beside it still hold the work; keep the folder and report this")
	}
	r := reader{b: b[len(manifestMagic):body]}
	m := &manifest{boot: r.str(), stamp: r.int()}
	m.entries = make([]entry, r.count())
	for i := range m.entries {
		e := &m.entries[i]
		e.path = r.str()
		e.kind = fsop.Kind(r.uint())
		e.mode, e.uid, e.gid = uint32(r.uint()), uint32(r.uint()), uint32(r.uint())
		e.rdev = r.uint()
		e.size, e.mtime = r.int(), r.int()
		e.hash, e.link = r.str(), r.str()
		if n := r.count(); n > 0 {
			e.xattrs = make(map[string]string, n)
			for range n {
				name := r.str()
				e.xattrs[name] = r.str()
			}
		}
		flags := r.uint()
		e.shared, e.damaged = flags&flagShared != 0, flags&flagDamaged != 0
		e.ino, e.ctime = r.uint(), r.int()
	}
	if n := r.count(); n > 0 {
		m.skipped = make([]changeset.Skip, n)
		for i := range m.skipped {
			m.skipped[i] = changeset.Skip{Path: r.str(), Reason: r.str()}
		}
	}
	if r.bad || len(r.b) > 0 {
		return nil, fault.New(fault.Internal, "read manifest", "the manifest does not end where it should")
	}
	return m, nil
}

type writer struct{ b []byte }

func (w *writer) uint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }
func (w *writer) int(v int64)   { w.b = binary.AppendVarint(w.b, v) }
func (w *writer) str(s string)  { w.b = append(binary.AppendUvarint(w.b, uint64(len(s))), s...) }

// reader reads what writer wrote; once bad, everything reads as zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	return r.step(n, v)
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	return int64(r.step(n, uint64(v)))
}

func (r *reader) step(n int, v uint64) uint64 {
	if r.bad || n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count reads the length of something of which every element takes a byte at least.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) str() string {
	n := r.count()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
