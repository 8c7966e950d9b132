//go:build !linux

package fsop

import (
	"context"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/ambit-run/ambit/fault"
)

// Dir is a held directory; on this system there is none.
type Dir struct{ name string }

func unsupported(op string) error {
	return fault.New(fault.Unsupported, op, "file access that is safe against races needs Linux, this is %s", runtime.GOOS)
}

// Every function below returns fault.Unsupported; see the Linux files for the contracts.

func OpenRoot(abs string, _ ...RootOption) (*Dir, error) {
	if abs == "" || abs[0] != '/' {
		return nil, notARoot(abs)
	}
	return nil, unsupported("open directory")
}

func FromFD(_ int, name string, _ ...RootOption) (*Dir, error) {
	return nil, fail("hold directory", name, unsupported("hold directory"))
}

func (d *Dir) Close() error                            { return nil }
func (d *Dir) Fd() int                                 { return -1 }
func (d *Dir) Name() string                            { return d.name }
func (d *Dir) Dup() (*Dir, error)                      { return nil, unsupported("duplicate directory") }
func (d *Dir) OpenDir(string) (*Dir, error)            { return nil, unsupported("open directory") }
func (d *Dir) Open(string) (*os.File, Info, error)     { return nil, Info{}, unsupported("open file") }
func (d *Dir) Stat(string) (Info, error)               { return Info{}, unsupported("stat") }
func (d *Dir) Readlink(string) (string, error)         { return "", unsupported("read link") }
func (d *Dir) ReadDir(string) ([]Entry, error)         { return nil, unsupported("read directory") }
func (d *Dir) Create(string, uint32) (*os.File, error) { return nil, unsupported("create file") }
func (d *Dir) Mkdir(string, uint32) error              { return unsupported("make directory") }
func (d *Dir) MkdirAll(string, uint32) error           { return unsupported("make directory") }
func (d *Dir) Symlink(string, string) error            { return unsupported("make link") }
func (d *Dir) Mknod(string, uint32, uint64) error      { return unsupported("make node") }
func (d *Dir) Link(string, *Dir, string) error         { return unsupported("link") }
func (d *Dir) Rename(string, *Dir, string) error       { return unsupported("rename") }
func (d *Dir) Replace(string, *Dir, string) error      { return unsupported("replace") }
func (d *Dir) Exchange(string, *Dir, string) error     { return unsupported("exchange") }
func (d *Dir) Remove(string) error                     { return unsupported("remove") }
func (d *Dir) RemoveAll(string) error                  { return unsupported("remove") }
func (d *Dir) Chmod(string, uint32) error              { return unsupported("change mode") }
func (d *Dir) Chown(string, int, int) error            { return unsupported("change owner") }
func (d *Dir) Chtimes(string, time.Time) error         { return unsupported("change times") }
func (d *Dir) GetXattr(string, string) ([]byte, error) { return nil, unsupported("read attribute") }
func (d *Dir) SetXattr(string, string, []byte) error   { return unsupported("set attribute") }
func (d *Dir) RemoveXattr(string, string) error        { return unsupported("remove attribute") }
func (d *Dir) ListXattr(string) ([]string, error)      { return nil, unsupported("list attributes") }
func (d *Dir) Writable(string) (bool, error)           { return false, unsupported("check access") }
func (d *Dir) SyncFile(*os.File, string) error         { return unsupported("sync file") }
func (d *Dir) Sync() error                             { return unsupported("sync directory") }
func (d *Dir) SyncDir(string) error                    { return unsupported("sync directory") }
func (d *Dir) Statfs() (FSInfo, error)                 { return FSInfo{}, unsupported("ask file system") }

func (d *Dir) Walk(context.Context, string, WalkOptions, func(string, Info) error) error {
	return unsupported("walk")
}

func CopyFile(context.Context, *Dir, string, *Dir, string, CopyOptions) (CopyResult, error) {
	return CopyResult{}, unsupported("copy file")
}

func CopyTree(context.Context, *Dir, string, *Dir, string, TreeOptions) (CopyStats, error) {
	return CopyStats{}, unsupported("copy tree")
}

func WriteNew(context.Context, *Dir, string, io.Reader) (*os.File, int64, string, error) {
	return nil, 0, "", unsupported("write file")
}

func HashFile(context.Context, *Dir, string) (string, int64, error) {
	return "", 0, unsupported("hash file")
}

func ReadFile(*Dir, string, int64) ([]byte, error)       { return nil, unsupported("read file") }
func WriteFileAtomic(*Dir, string, []byte, uint32) error { return unsupported("write file") }
