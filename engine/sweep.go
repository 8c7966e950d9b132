package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// sweep looks for folders that no plan owns. It removes nothing that holds
// anything: an unknown folder is named and kept.
func (e *Engine) sweep(ctx context.Context, ps []*Plan) ([]string, error) {
	owned := map[string]bool{}
	for _, p := range ps {
		owned[p.ID] = true
	}
	var said []string
	for _, dir := range []string{e.plansDir(), e.trashDir()} {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return said, folderFault("recover", err)
		}
		for _, en := range entries {
			if owned[en.Name()] {
				continue
			}
			path := filepath.Join(dir, en.Name())
			if err := os.Remove(path); err == nil { // only ever an empty folder
				said = append(said, "removed the empty folder "+path)
			} else {
				said = append(said, "kept "+path+": the store knows no such plan")
			}
		}
	}
	said = append(said, e.emptyTrash(ctx, "")...)
	return append(said, e.collectBases(ctx)...), nil
}
