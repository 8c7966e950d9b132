package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/ticket"
)

// maxSiblings bounds how many tickets beside one are looked at for the ones it
// depends on.
const maxSiblings = 1000

// finishedBefore returns the ids of the tickets that t depends on and that lie
// beside it with every box done. Backlog.md moves what is done from its folder
// tasks to completed, so that is looked at, too.
func finishedBefore(t *ticket.Ticket, path string) []string {
	if len(t.DependsOn) == 0 || path == "" {
		return nil
	}
	dir := ticketHome(path)
	folders := []string{dir}
	if filepath.Base(dir) == "tasks" {
		folders = append(folders, filepath.Join(filepath.Dir(dir), "completed"))
	}
	var done []string
	looked := 0
	for _, dir := range folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			name := filepath.Join(dir, e.Name())
			if filepath.Ext(name) != ".md" || name == path {
				continue
			}
			if looked++; looked > maxSiblings {
				return done
			}
			s := readSibling(name)
			if s == nil || !s.Finished() {
				continue
			}
			// Ids are compared as within a folder, and counted as they are written.
			if i := slices.IndexFunc(t.DependsOn, func(id string) bool { return strings.EqualFold(id, s.ID) }); i >= 0 {
				done = append(done, t.DependsOn[i])
			}
		}
	}
	return done
}

// readSibling parses a ticket file; nil if it cannot be read or understood.
func readSibling(path string) *ticket.Ticket {
	src, err := readRegular(ticketFile, path, path)
	if err != nil {
		return nil
	}
	t, found := ticket.Parse(path, src, ticket.Options{Format: ticket.FormatAuto})
	if ticket.AsError("", found) != nil {
		return nil
	}
	return t
}
