package ticket

// Finished reports whether the ticket has boxes and every one is done or
// cancelled: then a ticket that depends on it may start.
func (t *Ticket) Finished() bool {
	for i := range t.Tasks {
		if s := t.Tasks[i].State; s != StateDone && s != StateCancelled {
			return false
		}
	}
	return len(t.Tasks) > 0
}
