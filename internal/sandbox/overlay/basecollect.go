package overlay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

var _ engine.BaseKeeper = (*Strategy)(nil)

// CollectBases removes the bases of repositories that are gone and that no sandbox
// stands on. See engine.BaseKeeper. A repository counts as gone when nothing is at
// its path though the folder above is there (a disk that is not mounted takes that
// away, too), or when another one is.
func (s *Strategy) CollectBases(ctx context.Context, basesDir string, stands func(string) bool) ([]string, error) {
	entries, err := os.ReadDir(basesDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap("", "collect bases", err)
	}
	var said []string
	var errs []error
	for _, e := range entries {
		repo, err := s.collect(ctx, filepath.Join(basesDir, e.Name()), stands)
		if repo != "" {
			said = append(said, repo)
		}
		errs = append(errs, err)
	}
	slices.Sort(said)
	return said, errors.Join(errs...)
}

// collect removes one repository's bases, and returns its path if it did.
func (s *Strategy) collect(ctx context.Context, dir string, stands func(string) bool) (string, error) {
	unlock, err := lockRepo(ctx, dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	d, err := s.openRoot(dir)
	if err != nil {
		return "", err
	}
	defer d.Close()
	entries, err := d.ReadDir(".")
	if err != nil {
		return "", err
	}
	repo := ""
	for _, e := range entries {
		info, err := readBase(d, e.Name)
		if err != nil {
			continue // half made, or the lock: goes with the rest
		}
		if repo = info.Repository; !vanished(repo) {
			if name, err := s.basesName(repo); err != nil || name == filepath.Base(dir) {
				return "", nil //nolint:nilerr // what cannot be looked at may be there
			}
		}
		if used, err := inUse(d, e.Name, stands); err != nil || used {
			return "", err
		}
	}
	if repo == "" {
		return "", nil // nothing says whose it is
	}
	for _, e := range entries {
		if err := d.RemoveAll(e.Name); err != nil {
			return "", err
		}
	}
	return repo, os.Remove(dir)
}

// vanished reports whether a repository was removed: its work tree or itself is
// missing from a folder that is there.
func vanished(commonDir string) bool {
	missing := func(path string) bool {
		_, err := os.Lstat(path)
		return errors.Is(err, os.ErrNotExist)
	}
	if !missing(commonDir) {
		return false
	}
	top := filepath.Dir(commonDir)
	return !missing(top) || !missing(filepath.Dir(top))
}

// inUse reports whether a sandbox that still belongs to a plan stands on a base.
func inUse(d *fsop.Dir, base string, stands func(string) bool) (bool, error) {
	marks, err := d.ReadDir(base + "/" + baseUsers)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, m := range marks {
		raw, err := fsop.ReadFile(d, base+"/"+baseUsers+"/"+m.Name, stateLimit)
		if err != nil {
			return false, err
		}
		if stands(strings.TrimSuffix(string(raw), "\n")) {
			return true, nil
		}
	}
	return false, nil
}
