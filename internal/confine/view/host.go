package view

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Host is what a view needs to know of the machine; the real one or a table's.
// Paths are absolute. Nothing of a sandboxed tree is read through it.
type Host interface {
	Lstat(path string) (fs.FileInfo, error)
	Stat(path string) (fs.FileInfo, error)
	Readlink(path string) (string, error)
	ReadDir(path string) ([]fs.DirEntry, error)
	// ReadHead returns at most n bytes from a file's start. Files of proc and the
	// person's own settings only.
	ReadHead(path string, n int) ([]byte, error)
	// Resolve returns the path with every link followed.
	Resolve(path string) (string, error)
	// Same reports whether both paths lead to the same object.
	Same(a, b string) bool
	UID() int
	Getenv(name string) string
}

// OS is the running machine.
type OS struct{}

var _ Host = OS{}

// Lstat is os.Lstat.
func (OS) Lstat(p string) (fs.FileInfo, error) { return os.Lstat(p) }

// Stat is os.Stat.
func (OS) Stat(p string) (fs.FileInfo, error) { return os.Stat(p) }

// Readlink is os.Readlink.
func (OS) Readlink(p string) (string, error) { return os.Readlink(p) }

// ReadDir is os.ReadDir.
func (OS) ReadDir(p string) ([]fs.DirEntry, error) { return os.ReadDir(p) }

// ReadHead reads the start of a regular file or a file of proc; it never waits
// on a pipe or device.
func (OS) ReadHead(p string, n int) ([]byte, error) {
	fi, err := os.Stat(p)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: p, Err: fs.ErrInvalid}
	}
	f, err := os.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(n)))
}

// Resolve is filepath.EvalSymlinks.
func (OS) Resolve(p string) (string, error) { return filepath.EvalSymlinks(p) }

// Same compares by device and inode.
func (OS) Same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// UID is the effective user id.
func (OS) UID() int { return os.Geteuid() }

// Getenv is os.Getenv.
func (OS) Getenv(n string) string { return os.Getenv(n) }
