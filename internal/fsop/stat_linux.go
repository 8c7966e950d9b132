package fsop

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

// statxMask asks for the unique mount id and, for kernels before 6.8 that ignore
// that bit, the plain one.
const statxMask = unix.STATX_BASIC_STATS | unix.STATX_BTIME | unix.STATX_MNT_ID | unix.STATX_MNT_ID_UNIQUE

func statFD(fd int) (Info, error) { return statAt(fd, "", unix.AT_EMPTY_PATH) }

// statName looks at one name in a held directory, not following it.
func statName(dirfd int, name string) (Info, error) { return statAt(dirfd, name, 0) }

func statAt(dirfd int, name string, flags int) (Info, error) {
	var st unix.Statx_t
	err := ignoreIntr(func() error {
		return unix.Statx(dirfd, name, flags|unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, statxMask, &st)
	})
	if err != nil {
		return Info{}, err
	}
	info := Info{
		Kind: kindOfMode(st.Mode), Mode: uint32(st.Mode) & 0o7777,
		Size: int64(st.Size), Blocks: int64(st.Blocks),
		UID: st.Uid, GID: st.Gid, Nlink: uint64(st.Nlink), Ino: st.Ino, MntID: st.Mnt_id,
		DevMajor: st.Dev_major, DevMinor: st.Dev_minor, RdevMajor: st.Rdev_major, RdevMinor: st.Rdev_minor,
		Mtime: stamp(st.Mtime), Ctime: stamp(st.Ctime),
	}
	info.Immutable = st.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0
	if st.Mask&unix.STATX_BTIME != 0 {
		info.Btime = stamp(st.Btime)
	}
	return info, nil
}

func stamp(t unix.StatxTimestamp) time.Time { return time.Unix(t.Sec, int64(t.Nsec)) }

func kindOfMode(mode uint16) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return KindFile
	case unix.S_IFDIR:
		return KindDir
	case unix.S_IFLNK:
		return KindSymlink
	case unix.S_IFIFO:
		return KindFIFO
	case unix.S_IFSOCK:
		return KindSocket
	case unix.S_IFCHR:
		return KindCharDev
	case unix.S_IFBLK:
		return KindBlockDev
	}
	return KindUnknown
}

// Stat looks at an entry of any kind; links are not followed.
func (d *Dir) Stat(rel string) (Info, error) {
	fd, info, err := d.handle("stat", rel)
	if err != nil {
		return Info{}, err
	}
	_ = unix.Close(fd)
	return info, nil
}

// Readlink returns the text of a link, byte for byte. Another kind of entry is a conflict.
func (d *Dir) Readlink(rel string) (string, error) {
	fd, info, err := d.handle("read link", rel)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	if info.Kind != KindSymlink {
		return "", fault.New(fault.Conflict, "read link", "%s is a %s, not a link", show(d.abs(rel)), info.Kind).WithCause(unix.EINVAL)
	}
	text, err := readlinkFD(fd, "")
	if err != nil {
		return "", fail("read link", d.abs(rel), err)
	}
	return text, nil
}

// readlinkFD reads the link name in dirfd, or dirfd itself when name is empty.
func readlinkFD(dirfd int, name string) (string, error) {
	buf := make([]byte, 256)
	for {
		n, err := retryIntr(func() (int, error) { return unix.Readlinkat(dirfd, name, buf) })
		if err != nil {
			return "", err
		}
		if n < len(buf) {
			return string(buf[:n]), nil
		}
		buf = make([]byte, 2*len(buf))
	}
}
