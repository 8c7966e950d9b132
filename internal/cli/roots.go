package cli

import (
	"os"
	"path/filepath"
	"slices"
)

// resourceRoots returns the roots of the resources that hold the given paths:
// the nearest directory upwards with a .git entry, else the path itself. It only
// says where a project's configuration is looked for; what the resource is, is
// the engine's to discover.
func resourceRoots(paths []string) []string {
	var roots []string
	for _, p := range paths {
		root := p
		for dir := p; ; dir = filepath.Dir(dir) {
			if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
				root = dir
				break
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
		if !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots
}
