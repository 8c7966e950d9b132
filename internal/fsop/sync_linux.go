package fsop

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Sync makes the directory's own entries durable.
func (d *Dir) Sync() error { return d.SyncDir(".") }

// SyncDir makes the entries of a directory below durable.
func (d *Dir) SyncDir(rel string) error {
	fd, err := d.open("sync directory", rel, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := d.before("fsync", rel); err != nil {
		return fail("sync directory", d.abs(rel), err)
	}
	return fail("sync directory", d.abs(rel), ignoreIntr(func() error { return unix.Fsync(fd) }))
}

// fsNames are the magic numbers of statfs(2) and linux/magic.h.
var fsNames = map[uint32]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.NFS_SUPER_MAGIC: "nfs",
	unix.FUSE_SUPER_MAGIC: "fuse", unix.RAMFS_MAGIC: "ramfs", unix.F2FS_SUPER_MAGIC: "f2fs",
	unix.SQUASHFS_MAGIC: "squashfs", unix.EROFS_SUPER_MAGIC_V1: "erofs", unix.PROC_SUPER_MAGIC: "proc",
	unix.SYSFS_MAGIC: "sysfs", unix.CGROUP2_SUPER_MAGIC: "cgroup2", unix.ISOFS_SUPER_MAGIC: "iso9660",
	unix.MSDOS_SUPER_MAGIC: "vfat", unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "smb2",
	unix.ECRYPTFS_SUPER_MAGIC: "ecryptfs", unix.REISERFS_SUPER_MAGIC: "reiserfs", unix.V9FS_MAGIC: "9p",
	unix.CEPH_SUPER_MAGIC: "ceph", unix.AFS_SUPER_MAGIC: "afs", unix.HOSTFS_SUPER_MAGIC: "hostfs",
	0x2fc12fc1: "zfs", 0xca451a4e: "bcachefs", 0x2011bab0: "exfat", 0x7366746e: "ntfs3",
	0x786f4256: "vboxsf", 0x3153464a: "jfs",
}

// Statfs describes the file system the directory lies on.
func (d *Dir) Statfs() (FSInfo, error) {
	if err := d.acquire(); err != nil {
		return FSInfo{}, err
	}
	defer d.release()
	if err := d.before("statfs", "."); err != nil {
		return FSInfo{}, fail("ask file system", d.name, err)
	}
	var st unix.Statfs_t
	if err := ignoreIntr(func() error { return unix.Fstatfs(d.fd, &st) }); err != nil {
		return FSInfo{}, fail("ask file system", d.name, err)
	}
	magic := uint32(st.Type)
	name, ok := fsNames[magic]
	if !ok {
		name = fmt.Sprintf("0x%x", magic)
	}
	unit := uint64(st.Frsize)
	if unit == 0 {
		unit = uint64(st.Bsize)
	}
	return FSInfo{
		Type: name, FreeBytes: st.Bavail * unit, TotalBytes: st.Blocks * unit,
		FreeInodes: st.Ffree, TotalInodes: st.Files, HasInodes: st.Files > 0,
		ReadOnly: st.Flags&unix.ST_RDONLY != 0,
	}, nil
}
