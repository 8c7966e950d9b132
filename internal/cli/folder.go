package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// maxLinks is how many links in a row lead to one file: what the kernel allows.
const maxLinks = 40

// ticketFolder is a folder whose files are read as tickets. It is held by
// descriptor: whoever can write to it decides what its names stand for, and must
// not be able to show or run a file from elsewhere.
type ticketFolder struct {
	name string // as shown
	dir  *fsop.Dir
}

// openTicketFolder holds a folder by its absolute path.
func openTicketFolder(name, path string) (*ticketFolder, error) {
	d, err := fsop.OpenRoot(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil, fileFault("read tickets", name, err)
		}
		return nil, err
	}
	return &ticketFolder{name: name, dir: d}, nil
}

func (f *ticketFolder) close() { _ = f.dir.Close() }

// names lists the Markdown files of the folder itself, hidden ones left out.
func (f *ticketFolder) names() ([]string, error) {
	entries, err := f.dir.ReadDir(".")
	if err != nil {
		return nil, fileFault("read tickets", f.name, err)
	}
	var names []string
	for _, e := range entries {
		if strings.EqualFold(filepath.Ext(e.Name), ".md") && !strings.HasPrefix(e.Name, ".") {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// read reads one of the files. skip says why there is no file to read under a name:
// it is a folder or a pipe, or a link that leads to no file of this folder.
func (f *ticketFolder) read(name string) (data []byte, skip string, err error) {
	rel := name
	for range maxLinks {
		info, err := f.dir.Stat(rel)
		switch {
		case errors.Is(err, fs.ErrNotExist) && rel != name:
			return nil, "a link to nothing", nil
		case (errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.ENOTDIR)) && rel != name:
			return nil, "a link that leads through another one", nil
		case err != nil:
			return nil, "", fileFault("read ticket", filepath.Join(f.name, name), err)
		case info.Kind == fsop.KindFile:
			data, err := f.content(rel)
			if err != nil {
				return nil, "", fileFault("read ticket", filepath.Join(f.name, name), err)
			}
			return data, "", nil
		case info.Kind == fsop.KindSymlink:
			target, err := f.dir.Readlink(rel)
			if err != nil {
				return nil, "", fileFault("read ticket", filepath.Join(f.name, name), err)
			}
			if rel = filepath.Join(filepath.Dir(rel), target); filepath.IsAbs(target) || !filepath.IsLocal(rel) {
				return nil, "a link that leads out of the folder", nil
			}
		default:
			if rel != name {
				return nil, fmt.Sprintf("a link to a %s", info.Kind), nil
			}
			return nil, fmt.Sprintf("a %s", info.Kind), nil
		}
	}
	return nil, "a link that leads to itself", nil
}

func (f *ticketFolder) content(rel string) ([]byte, error) {
	file, _, err := f.dir.Open(rel)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, ticketFile.limit))
}

// passedOver is the note about a name that stands for no ticket.
func (f *ticketFolder) passedOver(name, what string) fault.Diagnostic {
	return fault.Diagnostic{
		Severity: fault.SeverityNote, File: filepath.Join(f.name, name), Summary: "passed over: it is " + what,
		Hint: "a folder of tickets is read from the files that lie in it",
	}
}
