package fsop

// WalkOptions bound a walk.
type WalkOptions struct {
	// MaxEntries ends the walk with code invalid when it meets more entries; 0 = no limit.
	MaxEntries int
	// MaxDepth is how deep directories are entered: 1 reports only the entries of
	// the start directory; 0 = no limit. Deeper ones are left out without an error.
	MaxDepth int
	// SkipDir says which directories are reported but not entered; nil = none.
	SkipDir func(path string, info Info) bool
	// StayOnMount reports directories on other mounts without entering them.
	StayOnMount bool
	// OnError is told of an entry or directory that cannot be looked at. It
	// returns nil to go on without it, or the error to end with. Nil ends.
	OnError func(path string, err error) error
}
