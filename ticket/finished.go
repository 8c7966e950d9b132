package ticket

// DependsOnLine is the line of front matter that states DependsOn; 0 if none does.
func (t *Ticket) DependsOnLine() int { return t.dependsLine }

// Finished reports whether the ticket has boxes and every one is done or
// cancelled: then a ticket that depends on it may start. A box that looks like an
// item of the list, is not ticked and could not be read as a step counts as not
// done; a warning of Parse is about it.
func (t *Ticket) Finished() bool {
	for i := range t.Tasks {
		if s := t.Tasks[i].State; s != StateDone && s != StateCancelled {
			return false
		}
	}
	return len(t.Tasks) > 0 && t.openUnread == 0
}
