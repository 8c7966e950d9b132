package overlay

import (
	"crypto/sha1" //nolint:gosec // git names blobs by it
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/ambit-run/ambit/internal/fsop"
)

// trackedAtCreation reports whether git's index named the path when a sandbox
// over a live checkout was made. An index that does not tell is no evidence.
func (s *Sandbox) trackedAtCreation(path string) (bool, error) {
	_, tracked, err := s.entryAtCreation(path)
	return tracked, err
}

// entryAtCreation returns the index entry of a path when a sandbox over a live
// checkout was made.
func (s *Sandbox) entryAtCreation(path string) (indexEntry, bool, error) {
	if !s.isGit() || len(s.st.Layers) == 0 {
		return indexEntry{}, false, nil
	}
	if s.tracked == nil {
		tracked, err := s.readTracked()
		if err != nil {
			return indexEntry{}, false, err
		}
		s.tracked = tracked
	}
	e, ok := s.tracked[path]
	return e, ok, nil
}

// untouched reports whether a file of the real tree, whose change time says that
// something happened to it, still is what it was: the index that the sandbox was
// made with knows the very file, by its number, size and time of writing, and the
// contents are those of its blob. A chmod to the same mode or a new hard link
// changes none of that. Without such evidence a file counts as changed.
func (s *Sandbox) untouched(live *layer, path string, info fsop.Info) (bool, error) {
	e, ok, err := s.entryAtCreation(path)
	if err != nil || !ok || !e.stated || info.Kind != fsop.KindFile ||
		e.mtime != uint32(info.Mtime.Unix()) || e.mtimeNsec != uint32(info.Mtime.Nanosecond()) || !info.Mtime.Before(s.st.Stamp.Threshold) ||
		e.ino != uint32(info.Ino) || e.size != uint32(info.Size) || (e.mode&0o100 != 0) != (info.Mode&0o100 != 0) {
		return false, err
	}
	f, opened, err := live.root.Open(path)
	if err != nil {
		return false, unmarked(err)
	}
	defer f.Close()
	if opened.Ino != info.Ino || !opened.Ctime.Equal(info.Ctime) {
		return false, nil
	}
	h := sha1.New() //nolint:gosec // the name of a blob in git
	if len(e.id) == sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", info.Size)
	if _, err := io.Copy(h, io.LimitReader(f, info.Size+1)); err != nil {
		return false, fmt.Errorf("read %q: %w", path, err)
	}
	return string(h.Sum(nil)) == e.id, nil
}

func (s *Sandbox) readTracked() (map[string]indexEntry, error) {
	tracked := map[string]indexEntry{}
	at, err := placeGit(s.st.Resource, s.st.Lower)
	if err != nil {
		return nil, err
	}
	layers, err := s.st.stateLayers("creation")
	if err != nil || len(layers) == 0 {
		return tracked, err
	}
	d, err := s.strat.openRoot(s.part(layers[0], at.upper))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	raw, err := fsop.ReadFile(d, fsop.Join(at.gitDir, "index"), indexLimit)
	if err != nil {
		return tracked, absent(err)
	}
	// A damaged index names what it names: it is evidence for a warning only.
	_, _ = eachIndexEntry(raw, idLen(s.st.Base), func(e indexEntry) bool {
		tracked[e.path] = e
		return true
	})
	return tracked, nil
}
