package overlay

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/ambit-run/ambit/fault"
)

// Destroy removes the sandbox's folder's contents and its claim on a base.
// Commits that exist only in the sandbox's layers block it, code conflict,
// unless abandon says that they are kept elsewhere or given up. The state file
// goes last, so that a removal that was cut off can be taken up again.
func (s *Sandbox) Destroy(ctx context.Context, abandon bool) error {
	if err := s.destroy(ctx, abandon); err != nil {
		return fault.Wrap("", "destroy sandbox", err)
	}
	return nil
}

func (s *Sandbox) destroy(ctx context.Context, abandon bool) error {
	dir, err := s.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.Stat(stateFile); err != nil {
		return absent(err) // destroyed before
	}
	if !s.st.Destroying {
		if !abandon {
			if err := s.checkCommits(ctx); err != nil {
				return err
			}
		}
		next := s.clone()
		next.Destroying = true
		if err := next.save(dir); err != nil {
			return err
		}
		s.st = next
	}
	if err := s.releaseBase(); err != nil {
		return err
	}
	entries, err := dir.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name == stateFile {
			continue
		}
		if err := dir.RemoveAll(e.Name); err != nil {
			return fmt.Errorf("remove %s: %w", e.Name, err)
		}
	}
	if err := dir.Remove(stateFile); err != nil {
		return err
	}
	return dir.Sync()
}

// releaseBase drops the claim on the base that the sandbox stands on; the base
// itself is shared and stays.
func (s *Sandbox) releaseBase() error {
	tree := s.bottomPath(layerBase)
	if tree == "" {
		return nil
	}
	if err := releaseClaim(filepath.Dir(tree), s.dirPath); err != nil {
		return fmt.Errorf("release the base: %w", err)
	}
	return nil
}
