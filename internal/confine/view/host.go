package view

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Host is what a view needs to know of the machine; the real one or a table's.
// Paths are absolute.
type Host interface {
	Lstat(path string) (fs.FileInfo, error)
	Stat(path string) (fs.FileInfo, error)
	Readlink(path string) (string, error)
	ReadDir(path string) ([]fs.DirEntry, error)
	ReadFile(path string) ([]byte, error) // small files of the system and the person's own settings
	Resolve(path string) (string, error)  // with every link followed
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

// ReadFile is os.ReadFile.
func (OS) ReadFile(p string) ([]byte, error) { return os.ReadFile(p) }

// Resolve is filepath.EvalSymlinks.
func (OS) Resolve(p string) (string, error) { return filepath.EvalSymlinks(p) }

// UID is the effective user id.
func (OS) UID() int { return os.Geteuid() }

// Getenv is os.Getenv.
func (OS) Getenv(n string) string { return os.Getenv(n) }
