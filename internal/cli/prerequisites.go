package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

// maxSiblings bounds how many tickets beside one are looked at for the ones it
// depends on.
const maxSiblings = 1000

// finishedBefore returns the ids of the tickets that t depends on and that lie
// beside it with every box done. Backlog.md moves what is done from its folder
// tasks to completed, so that is looked at, too.
//
// An id that several files have, not all of them done, could mean either: that is
// an error that names them, unless the id is among those assumed.
func finishedBefore(t *ticket.Ticket, path string, assumed []string) (done []string, found []fault.Diagnostic) {
	if len(t.DependsOn) == 0 || path == "" {
		return nil, nil
	}
	carriers := make([]carrier, len(t.DependsOn))
	dir := engine.TicketHome(path)
	budget := maxSiblings
	lookAt(t, dir, path, &budget, carriers)
	if filepath.Base(dir) == "tasks" {
		lookAt(t, filepath.Join(filepath.Dir(dir), "completed"), path, &budget, carriers)
	}
	for i, c := range carriers {
		id := t.DependsOn[i]
		switch {
		case len(c.files) == 0 || slices.Contains(assumed, id):
		case c.open == 0:
			done = append(done, id)
		case c.open < len(c.files):
			found = append(found, fault.Diagnostic{
				Severity: fault.SeverityError, Code: fault.Conflict, File: t.File, Line: t.DependsOnLine(),
				Summary: fmt.Sprintf("%q is the id of %s", id, strings.Join(c.files, " and of ")),
				Detail:  "not all of them are done, and what waits for the id could mean either",
				Hint:    "give each ticket an id of its own, or say --assume " + id + " if it is done",
			})
		}
	}
	return done, found
}

// carrier holds the files that have an id, and how many of them are not done.
type carrier struct {
	files []string
	open  int
}

// lookAt reads the tickets of a folder, but for the one at path, and notes those
// that t depends on.
func lookAt(t *ticket.Ticket, dir, path string, budget *int, carriers []carrier) {
	f, err := openTicketFolder(dir, dir)
	if err != nil {
		return
	}
	defer f.close()
	names, err := f.names()
	if err != nil {
		return
	}
	for _, n := range names {
		name := filepath.Join(dir, n)
		if name == path {
			continue
		}
		if *budget--; *budget < 0 {
			return
		}
		src, skip, err := f.read(n)
		if err != nil || skip != "" {
			continue
		}
		// One with an error in it has an id all the same, and is not done.
		s, found := ticket.Parse(name, src, ticket.Options{Format: ticket.FormatAuto})
		open := 0
		if fault.HasErrors(found) || !s.Finished() {
			open = 1
		}
		for i, id := range t.DependsOn { // compared as within a folder, counted as written
			if strings.EqualFold(id, s.ID) {
				carriers[i].files = append(carriers[i].files, name)
				carriers[i].open += open
			}
		}
	}
}
