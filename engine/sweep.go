package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Folders below plans/ that are looked at and removed again begin so.
const (
	previewPrefix = ".preview-"
	doctorPrefix  = ".doctor-"
)

func isProbeFolder(name string) bool {
	return strings.HasPrefix(name, previewPrefix) || strings.HasPrefix(name, doctorPrefix)
}

// sweep looks for folders that no plan owns. Of them it removes none that holds
// anything, but for what a look at the machine left: an unknown folder is named
// and kept.
func (e *Engine) sweep(ctx context.Context) ([]string, error) {
	said, err := e.sweepFolders(ctx)
	if err != nil {
		return said, err
	}
	said = append(said, e.emptyTrash(ctx, "")...)
	return append(said, e.collectBases(ctx)...), nil
}

// sweepFolders holds the staging lock, so that nobody makes a plan or looks at the
// machine meanwhile; while somebody does, it leaves all as it is, for a later call.
func (e *Engine) sweepFolders(ctx context.Context) ([]string, error) {
	f, err := e.openStaging()
	if err != nil {
		return nil, err
	}
	defer f.Close() // gives the staging lock back
	if ok, err := tryLock(f); err != nil || !ok {
		return nil, err
	}
	var paths []string
	for _, dir := range []string{e.plansDir(), e.trashDir()} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, folderFault("recover", err)
		}
		for _, en := range entries {
			paths = append(paths, filepath.Join(dir, en.Name()))
		}
	}
	// Rows come before folders: whoever owns one of these is in the store by now.
	ps, err := e.deps.Store.FindPlans(ctx, PlanQuery{})
	if err != nil {
		return nil, err
	}
	owned := map[string]bool{}
	for _, p := range ps {
		owned[p.ID] = true
	}
	var said []string
	for _, path := range paths {
		name := filepath.Base(path)
		switch {
		case owned[name]:
			continue
		case isProbeFolder(name): // whoever made it is dead
			err = e.removePlanFolder(path)
		default:
			err = os.Remove(path) // only ever an empty folder
		}
		switch {
		case errors.Is(err, os.ErrNotExist): // purged meanwhile
		case err == nil && isProbeFolder(name):
			said = append(said, "removed what an interrupted command left in "+path)
		case err == nil:
			said = append(said, "removed the empty folder "+path)
		default:
			said = append(said, "kept "+path+": the store knows no such plan")
		}
	}
	return said, nil
}
