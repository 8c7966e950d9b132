package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/ambit-run/ambit/ticket"
)

// maxSiblings bounds how many tickets beside one are looked at for the ones it
// depends on.
const maxSiblings = 1000

// finishedBefore returns the ids of the tickets that t depends on and that lie
// beside it with every box done.
func finishedBefore(t *ticket.Ticket, path string) []string {
	if len(t.DependsOn) == 0 || path == "" {
		return nil
	}
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var done []string
	looked := 0
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if filepath.Ext(name) != ".md" || name == path {
			continue
		}
		if looked++; looked > maxSiblings {
			break
		}
		if s := readSibling(name); s != nil && slices.Contains(t.DependsOn, s.ID) && s.Finished() {
			done = append(done, s.ID)
		}
	}
	return done
}

// readSibling parses a ticket file; nil if it cannot be read or understood.
func readSibling(path string) *ticket.Ticket {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	src, err := io.ReadAll(io.LimitReader(f, ticket.DefaultMaxBytes+1))
	if err != nil {
		return nil
	}
	t, found := ticket.Parse(path, src, ticket.Options{})
	if ticket.AsError("", found) != nil {
		return nil
	}
	return t
}
