package fsop

import "time"

// Kind is what a directory entry is.
type Kind uint8

// Kinds. KindUnknown is never returned by Stat.
const (
	KindUnknown Kind = iota
	KindFile
	KindDir
	KindSymlink
	KindFIFO
	KindSocket
	KindCharDev
	KindBlockDev
)

// String names the kind for a person.
func (k Kind) String() string {
	switch k {
	case KindFile:
		return "file"
	case KindDir:
		return "directory"
	case KindSymlink:
		return "link"
	case KindFIFO:
		return "fifo"
	case KindSocket:
		return "socket"
	case KindCharDev, KindBlockDev:
		return "device"
	case KindUnknown:
	}
	return "unknown"
}

// Special reports whether the kind is one that is never opened: FIFO, socket, device.
func (k Kind) Special() bool { return k >= KindFIFO }

// Info is what the kernel says about one directory entry, links not followed.
type Info struct {
	Kind   Kind
	Mode   uint32 // st_mode & 07777
	Size   int64  // bytes; of a link, the length of its text
	Blocks int64  // allocated units of 512 bytes
	UID    uint32
	GID    uint32
	Nlink  uint64
	Ino    uint64
	// MntID is the mount's id, unique within a boot since Linux 6.8.
	MntID                uint64
	DevMajor, DevMinor   uint32
	RdevMajor, RdevMinor uint32
	Mtime, Ctime         time.Time
	Btime                time.Time // zero where the file system has none
	// Immutable says that an attribute (chattr +i or +a) forbids to change,
	// rename or remove it.
	Immutable bool
}

// Identity tells objects apart within one boot. It is comparable. Between two
// looks at a name it says "same object" reliably only while something (an open
// descriptor) keeps the inode from being freed and its number from being reused.
type Identity struct {
	MntID uint64
	Dev   uint64 // btrfs repeats inode numbers between subvolumes of one mount
	Ino   uint64
	Kind  Kind
}

// Identity returns the entry's identity.
func (i Info) Identity() Identity {
	return Identity{MntID: i.MntID, Dev: i.Dev(), Ino: i.Ino, Kind: i.Kind}
}

// Dev is the device number as one comparable value.
func (i Info) Dev() uint64 { return uint64(i.DevMajor)<<32 | uint64(i.DevMinor) }

// Sparse reports whether the file has fewer blocks than its size needs.
func (i Info) Sparse() bool { return i.Kind == KindFile && i.Blocks*512 < i.Size }

// Entry is one name in a directory.
type Entry struct {
	Name string // bytes as the kernel has them, not necessarily UTF-8
	Kind Kind
}

// FSInfo describes the file system a directory lies on.
type FSInfo struct {
	Type        string // "ext4", "xfs", "btrfs", "tmpfs", "overlayfs", "nfs", "fuse", …; "0x…" when not in the table
	FreeBytes   uint64 // available to this user
	TotalBytes  uint64
	FreeInodes  uint64 // meaningless unless HasInodes
	TotalInodes uint64
	HasInodes   bool // false where inodes are not a limited thing (btrfs)
	ReadOnly    bool
}
