package fsop

// RootOption changes how a Dir looks paths up. Directories opened from a Dir
// inherit its options.
type RootOption func(*rootOptions)

type rootOptions struct {
	noXdev    bool
	intercept Intercept
}

// NoXdev refuses every path that crosses a mount point.
func NoXdev() RootOption { return func(o *rootOptions) { o.noXdev = true } }

// Intercept is called before each file-system call made through a Dir, with the
// call's name ("openat", "rename", "write", "fsync", ...) and the path it is
// about. A non-nil error is returned instead of making the call. It must be safe
// for concurrent use.
type Intercept func(op, path string) error

// WithIntercept installs an Intercept: how tests fail or kill at the n-th call.
// Nothing else has a use for it.
func WithIntercept(f Intercept) RootOption { return func(o *rootOptions) { o.intercept = f } }
