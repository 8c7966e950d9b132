package fsop

import (
	"io"
	"os"

	"github.com/ambit-run/ambit/fault"
)

// ReadFile returns the contents of a regular file of at most max bytes; a larger
// one is invalid.
func ReadFile(d *Dir, rel string, max int64) ([]byte, error) {
	f, info, err := d.Open(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := d.before("read", rel); err != nil {
		return nil, fail("read file", d.abs(rel), err)
	}
	tooLarge := fault.New(fault.Invalid, "read file", "%s has more than %d bytes", show(d.abs(rel)), max)
	if info.Size > max {
		return nil, tooLarge
	}
	data := make([]byte, 0, info.Size+1)
	for { // the file may grow while it is read
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if int64(len(data)) > max {
			return nil, tooLarge
		}
		if err == io.EOF { //nolint:errorlint // io.Reader's contract
			return data, nil
		}
		if err != nil {
			return nil, fail("read file", d.abs(rel), err)
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// WriteFileAtomic makes rel a regular file of exactly these bytes and mode, so
// that after a crash it holds the old or the new contents: temporary file in the
// same held directory, fsync, rename over, fsync of the directory. A link with
// that name is replaced, not followed. It needs room for both contents.
func WriteFileAtomic(d *Dir, rel string, data []byte, perm uint32) error {
	if err := CheckRel(rel); err != nil {
		return err
	}
	dir, base := SplitRel(rel)
	at, err := d.OpenDir(dir)
	if err != nil {
		return err
	}
	defer at.Close()
	temp, err := writeTemp(at, data, perm)
	if err != nil {
		return err
	}
	if err := at.Replace(temp, at, base); err != nil {
		_ = at.Remove(temp)
		return err
	}
	return at.Sync()
}

func writeTemp(at *Dir, data []byte, perm uint32) (string, error) {
	temp := TempName()
	f, err := at.Create(temp, perm)
	if err != nil {
		return "", err
	}
	err = writeSync(at, f, temp, data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = at.Remove(temp)
		return "", fail("write file", at.abs(temp), err)
	}
	return temp, nil
}

func writeSync(at *Dir, f *os.File, name string, data []byte) error {
	if err := at.before("write", name); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := at.before("fsync", name); err != nil {
		return err
	}
	return f.Sync()
}
