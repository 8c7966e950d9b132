package overlay

import (
	"github.com/ambit-run/ambit/internal/fsop"
)

// trackedAtCreation reports whether git's index named the path when a sandbox
// over a live checkout was made. An index that does not tell is no evidence.
func (s *Sandbox) trackedAtCreation(path string) (bool, error) {
	if !s.isGit() || len(s.st.Layers) == 0 {
		return false, nil
	}
	if s.tracked == nil {
		tracked, err := s.readTracked()
		if err != nil {
			return false, err
		}
		s.tracked = tracked
	}
	return s.tracked[path], nil
}

func (s *Sandbox) readTracked() (map[string]bool, error) {
	tracked := map[string]bool{}
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
		tracked[e.path] = true
		return true
	})
	return tracked, nil
}
