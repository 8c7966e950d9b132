package view

// Kind is what an Op makes.
type Kind string

// Kinds of Op.
const (
	KindBind    Kind = "bind"    // Source, with what is mounted below it, at Target
	KindOverlay Kind = "overlay" // Lower (top first), Upper, Work
	KindAlias   Kind = "alias"   // what is mounted at Source inside, once more at Target
	KindTmpfs   Kind = "tmpfs"   // an empty private file system, mode Mode
	KindDir     Kind = "dir"     // a folder in what is there already
	KindLink    Kind = "link"    // a symbolic link with text Text
	KindFile    Kind = "file"    // a regular file with contents Text, unless there is one; with ReadOnly, over one
	KindMask    Kind = "mask"    // hides Target: a folder becomes empty, a file empty and read-only
)

// Op is one step of making the inside. Targets are absolute, clean and free of
// links as seen inside; sources are host paths. They are carried out in order.
type Op struct {
	Kind     Kind     `json:"kind"`
	Target   string   `json:"target"`
	Source   string   `json:"source,omitempty"`
	Lower    []string `json:"lower,omitempty"`
	Upper    string   `json:"upper,omitempty"`
	Work     string   `json:"work,omitempty"`
	ReadOnly bool     `json:"read_only,omitempty"`
	Text     string   `json:"text,omitempty"`
	Mode     uint32   `json:"mode,omitempty"`
	// Optional ops that fail leave a notice; others end the set-up.
	Optional bool `json:"optional,omitempty"`
	// Private says that the way to Target leads through the private home, which
	// commands can write: what stands in the way there is moved aside, not followed.
	Private bool `json:"private,omitempty"`
}

// Layout is everything the native confinement needs to make the inside.
type Layout struct {
	// Scratch is an existing empty folder of the host; the new root is mounted on it.
	Scratch string `json:"scratch"`
	Ops     []Op   `json:"ops"`
	// MakeDirs are folders of the plan that must exist before, mode 0700.
	MakeDirs []string `json:"make_dirs,omitempty"`
	// Writable are the paths inside that commands may write, for Landlock.
	Writable []string `json:"writable"`
	// Shown are the places below the home that show on purpose, for the proof.
	Shown   []string `json:"-"`
	HostNet bool     `json:"host_net,omitempty"`
	Notices []string `json:"notices,omitempty"`
}
