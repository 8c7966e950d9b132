package fsop

// CopyOptions say how files are copied. The zero value clones or copies
// contents, mode, owner where permitted, modification time, user attributes and
// POSIX ACLs, to names that must be free.
type CopyOptions struct {
	// Hash computes the SHA-256 of the bytes that were written.
	Hash bool
	// Sync makes each file durable before it counts as copied.
	Sync bool
	// Replace removes whatever has the destination's name first (a directory only
	// in CopyTree). It is removed as an entry, never followed or written through.
	Replace bool
	// NoReflink copies the bytes even where the file system could share them.
	NoReflink bool
	// DropSetuid leaves set-user-id and set-group-id bits of files behind.
	DropSetuid bool
	// SkipXattr says which extended attributes stay behind without being
	// reported; nil = none.
	SkipXattr func(name string) bool
}

// CopyResult is what became of one file.
type CopyResult struct {
	Info      Info   // of the source, when it was opened
	Size      int64  // bytes in the copy
	SHA256    string // lower-case hex, with CopyOptions.Hash
	Reflinked bool   // the copy shares the source's blocks
	// Lost names what the destination could not take: "owner", "setuid", or the
	// name of an attribute.
	Lost []string
	// Unstable says that somebody wrote to the source while it was copied.
	Unstable bool
}

// TreeOptions say how trees are copied.
type TreeOptions struct {
	CopyOptions
	// Workers copies that many files at once; 0 = the number of CPUs, at least 2,
	// at most 16. Fewer are used where the limit on open files is low.
	Workers int
	// Exclude leaves an entry, and everything below it, out; nil = nothing. path
	// is relative to the source directory.
	Exclude func(path string, info Info) bool
	// CrossMounts enters directories on other mounts; otherwise they are skipped and listed.
	CrossMounts bool
	// SkipUnreadable skips and lists what may not be read instead of failing.
	SkipUnreadable bool
	// Progress is told the totals now and then; one call at a time.
	Progress func(CopyStats)
	// Entry is told of everything that was copied; one call at a time, in no
	// particular order. sha256 is empty unless Hash is set and it is a file.
	// path is relative to the source directory.
	Entry func(path string, info Info, sha256 string, reflinked bool)
}

// CopyStats count what a copy of a tree did.
type CopyStats struct {
	Files, Dirs, Links          int64 // hard links to a file already copied count as Links
	Reflinked, Copied           int64 // of Files
	BytesReflinked, BytesCopied int64
	// BytesDone counts what was dealt with so far, holes, shared blocks and the part
	// of unfinished files included.
	BytesDone int64
	Skipped   []Skipped
	Lost      []Skipped // attributes that the destination could not take
	Unstable  []string  // files written to while they were copied
}

// Skipped is one path that was left out (or one attribute), and why.
type Skipped struct {
	Path   string
	Reason string // "socket", "fifo", "device", "mount point", "vanished", "unreadable: …"
}
