package changeset

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git names blobs by SHA-1; nothing is trusted because of it
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// sniffBytes is how far a NUL byte makes contents binary; git's number
// (buffer_is_binary in xdiff-interface.c).
const sniffBytes = 8000

// Limits bound what is read and shown of one file. Zero fields take the defaults.
type Limits struct {
	FileBytes int64 // a file with a larger side is named, not compared; 0 = 4 MiB
	DiffLines int   // a file whose diff has more lines is named, not shown; 0 = 20,000
	// LineBytes is how much of one line is shown where text is escaped for a
	// terminal; 0 = 2,000. A diff that is not escaped never shortens lines.
	LineBytes int
}

func (l Limits) withDefaults() Limits {
	if l.FileBytes == 0 {
		l.FileBytes = 4 << 20
	}
	if l.DiffLines == 0 {
		l.DiffLines = 20_000
	}
	if l.LineBytes == 0 {
		l.LineBytes = 2000
	}
	return l
}

// blob is the contents of one side: a file's bytes or a link's text.
type blob struct {
	data   string
	binary bool
}

// hasContents reports whether the entry has contents that a diff compares.
func hasContents(e *Entry) bool { return e != nil && e.Kind != Dir }

// readBlob reads one side of a change and checks it against its entry's hash, so
// that what is shown is what the set describes. tooLarge is set, and nothing
// returned, above the limit.
func readBlob(src Source, side Side, path string, e *Entry, limit int64) (b *blob, tooLarge bool, err error) {
	if e.Kind == Symlink {
		return &blob{data: e.Link}, false, nil
	}
	if e.Size > limit {
		return nil, true, nil
	}
	if e.Size == 0 && (e.Hash == "" || e.Hash == emptyHash) {
		return &blob{}, false, nil
	}
	if src == nil {
		return nil, false, fault.New(fault.Unavailable, "", "contents of %s are not at hand", Quote(path))
	}
	data, err := readHead(src, side, path, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", Quote(path), err)
	}
	if int64(len(data)) > limit {
		return nil, true, nil
	}
	if e.Hash != "" {
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != e.Hash {
			return nil, false, fault.New(fault.Stale, "", "%s changed since it was compared", Quote(path)).
				WithHint("something still writes to it; run the command again when it is done")
		}
	}
	return &blob{data: string(data), binary: isBinary(data)}, false, nil
}

const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func isBinary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0 }

// oid is the object id git gives the contents.
func (b *blob) oid() string {
	h := sha1.New() //nolint:gosec // see the import
	fmt.Fprintf(h, "blob %d\x00", len(b.data))
	h.Write([]byte(b.data))
	return hex.EncodeToString(h.Sum(nil))
}

// CountLines fills Binary, Added and Removed of every change from the contents.
// A link counts as its one line of text, as in git. Files above limits.FileBytes
// keep zeros and are named in a notice of the set. Contents that cannot be read
// do not stop the others; the first error is returned at the end.
func CountLines(ctx context.Context, set *Set, src Source, limits Limits) error {
	limits = limits.withDefaults()
	var errs []error
	var large []string
	for i := range set.Changes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c := &set.Changes[i]
		c.Binary, c.Added, c.Removed = false, 0, 0
		if sameContents(c) {
			continue
		}
		old, new, tooLarge, err := readSides(c, src, limits.FileBytes)
		switch {
		case err != nil:
			errs = append(errs, err)
		case tooLarge:
			large = append(large, Quote(c.Path))
		case old.binary || new.binary:
			c.Binary = true
		default:
			for _, d := range diffLines(splitLines(old.data), splitLines(new.data)) {
				c.Added += d.ReplEnd - d.ReplStart
				c.Removed += d.End - d.Start
			}
		}
	}
	set.replaceNotice("lines not counted", " above "+size(limits.FileBytes), large)
	return joinErrors(errs)
}

// readSides reads both sides of a change; a side without contents is empty.
func readSides(c *Change, src Source, limit int64) (old, new *blob, tooLarge bool, err error) {
	old, new = &blob{}, &blob{}
	if hasContents(c.Before) {
		if old, tooLarge, err = readBlob(src, Before, c.oldPath(), c.Before, limit); err != nil || tooLarge {
			return nil, nil, tooLarge, err
		}
	}
	if hasContents(c.After) {
		if new, tooLarge, err = readBlob(src, After, c.Path, c.After, limit); err != nil || tooLarge {
			return nil, nil, tooLarge, err
		}
	}
	return old, new, false, nil
}

// sameContents reports whether both sides are known to hold the same bytes (or none).
func sameContents(c *Change) bool {
	if !hasContents(c.Before) && !hasContents(c.After) {
		return true
	}
	b, a := c.Before, c.After
	if !hasContents(b) || !hasContents(a) || b.Kind != a.Kind {
		return false
	}
	if b.Kind == Symlink {
		return b.Link == a.Link
	}
	return b.Size == a.Size && b.Hash == a.Hash && b.Hash != ""
}

// replaceNotice sets the one notice that starts with what, or removes it when
// there are no names.
func (s *Set) replaceNotice(what, detail string, names []string) {
	kept := make([]string, 0, len(s.Notices)+1)
	for _, n := range s.Notices {
		if !strings.HasPrefix(n, what) {
			kept = append(kept, n)
		}
	}
	if len(names) > 0 {
		shown := strings.Join(names[:min(3, len(names))], ", ")
		if len(names) > 3 {
			shown += fmt.Sprintf(" and %d more", len(names)-3)
		}
		kept = append(kept, what+detail+": "+shown)
	}
	if len(kept) == 0 {
		kept = nil
	}
	s.Notices = kept
}

// joinErrors joins what went wrong with single paths into one error that keeps
// the code of the first.
func joinErrors(errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return fmt.Errorf("%w (and %d more)", errs[0], len(errs)-1)
}
