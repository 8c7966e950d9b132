package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/internal/typo"
)

// maxNearby bounds how many names of a folder are compared with a misspelled one.
const maxNearby = 10_000

// nearby returns the file or folder that was probably meant by name, spelled as name
// is; "" if none is close. path is name made absolute. Case does not matter, and
// neither does an extension that was left out.
func nearby(name, path string) string {
	f, err := os.Open(filepath.Dir(path))
	if err != nil {
		return ""
	}
	defer f.Close()
	names, err := f.Readdirnames(maxNearby)
	if err != nil && err != io.EOF { //nolint:errorlint // io.EOF is Readdirnames' own
		return ""
	}
	var known []string
	entry := map[string]string{}
	for _, n := range names {
		if strings.HasPrefix(n, ".") {
			continue
		}
		low := strings.ToLower(n)
		for _, k := range []string{low, strings.TrimSuffix(low, filepath.Ext(low))} {
			if have, ok := entry[k]; !ok || n < have {
				entry[k] = n
			}
			known = append(known, k)
		}
	}
	near := typo.Nearest(strings.ToLower(filepath.Base(path)), known)
	if near == "" {
		return ""
	}
	found := filepath.Join(filepath.Dir(name), entry[near])
	if strings.HasPrefix(name, "./") {
		found = "./" + found
	}
	return found
}
