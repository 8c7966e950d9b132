package conformance

import (
	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/engine"
)

// Names under which a test binary starts itself again.
const (
	insideArg = "ambit-conformance-inside" // as the first process in a sandbox
	childArg  = "ambit-conformance-child"  // as a second process that uses a strategy
)

// Op is one modification, made by a process inside. Errors are ignored: a random
// sequence of operations may ask for what cannot be.
type Op struct {
	Do   string // write, append, truncate, remove, removeall, mkdir, rename, chmod, symlink, link, setxattr, fifo
	Path string
	To   string // rename, link: the new path; symlink: the text; setxattr: the name
	Data string // write, append, setxattr
	Mode uint32 // chmod, mkdir, write
}

// insideSpec is what the first process inside is told, on descriptor 3.
type insideSpec struct {
	Entrance engine.Entrance
	Ops      []Op
	Script   string // run by sh -e after the operations; empty = none
	Snapshot bool   // write what is there to standard output, as a gob of []Node
	SkipGit  bool   // leave the root's own .git out of the snapshot
}

// Node is one entry of a snapshot. Paths and links are bytes, so that gob, not
// JSON, carries them.
type Node struct {
	Path  string
	Entry changeset.Entry // Kind may be "special" or "unreadable", which no change carries
}

// Kinds that only snapshots have.
const (
	kindSpecial    changeset.Kind = "special"
	kindUnreadable changeset.Kind = "unreadable"
)

// Tree is a snapshot by path.
type Tree map[string]changeset.Entry

// Result is what a child process answers with.
type Result struct {
	Record engine.SandboxRecord
	Names  []string // checkpoints
	Error  string
	Code   string
}

// childSpec is what a child process is told, on descriptor 3.
type childSpec struct {
	Strategy engine.StrategyName
	Home     string // for git
	Do       string // create, checkpoint, restore, rollback, destroy, checkpoints
	Req      engine.CreateRequest
	Rec      engine.SandboxRecord
	Name     string
	Abandon  bool
	KillAt   int // dies before the n-th file-system call; 0 = lives
}
