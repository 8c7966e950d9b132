package gitx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// Modes of tree entries.
const (
	ModeFile    = "100644"
	ModeExec    = "100755"
	ModeSymlink = "120000"
	ModeGitlink = "160000" // a submodule's commit
	ModeTree    = "040000"
)

// TreeEntry is one file of a tree.
type TreeEntry struct {
	Mode string
	ID   string
	Path string
}

// Tree lists all files of a tree-ish, recursively, sorted as git sorts them.
func (r *Repo) Tree(ctx context.Context, treeish string) ([]TreeEntry, error) {
	var entries []TreeEntry
	err := r.EachZ(ctx, Opts{Values: []string{treeish}}, func(rec string) error {
		meta, path, ok := strings.Cut(rec, "\t")
		f := strings.Fields(meta)
		if !ok || len(f) != 3 {
			return fmt.Errorf("list tree: unexpected record %q", rec)
		}
		entries = append(entries, TreeEntry{Mode: f[0], ID: f[2], Path: path})
		return nil
	}, "ls-tree", "-r", "-z", "--full-tree")
	return entries, err
}

// TreeOf returns the tree id of a commit or tree-ish.
func (r *Repo) TreeOf(ctx context.Context, treeish string) (string, error) {
	if err := CheckValue(treeish); err != nil {
		return "", err
	}
	return r.Output(ctx, Opts{Values: []string{treeish + "^{tree}"}}, "rev-parse", "--quiet", "--verify", "--end-of-options")
}

// RevID returns the id of any object that a revision names ("COMMIT:path").
// Errors: not_found.
func (r *Repo) RevID(ctx context.Context, rev string) (string, error) {
	id, err := r.Output(ctx, Opts{Exits: []int{1, 128}, Values: []string{rev}}, "rev-parse", "--quiet", "--verify", "--end-of-options")
	if err == nil && !IsID(id) {
		return "", fault.New(fault.NotFound, "resolve revision", "%q names no object", rev)
	}
	return id, err
}

// Diff is one path that differs between two trees, or between a tree and an index.
type Diff struct {
	Path             string
	OldMode, NewMode string // "000000" on the side where it does not exist
	OldID, NewID     string
	Status           byte // 'A', 'D', 'M' or 'T'
}

// DiffTrees compares two tree-ishes, path by path, without rename detection.
func (r *Repo) DiffTrees(ctx context.Context, from, to string) ([]Diff, error) {
	return r.rawDiff(ctx, Opts{Values: []string{from, to}},
		"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--end-of-options")
}

func (r *Repo) rawDiff(ctx context.Context, opts Opts, args ...string) ([]Diff, error) {
	var diffs []Diff
	var d *Diff
	err := r.EachZ(ctx, opts, func(rec string) error {
		if d != nil {
			d.Path = rec
			diffs = append(diffs, *d)
			d = nil
			return nil
		}
		f := strings.Fields(strings.TrimPrefix(rec, ":"))
		if len(f) != 5 || len(f[4]) == 0 {
			return fmt.Errorf("compare trees: unexpected record %q", rec)
		}
		d = &Diff{OldMode: f[0], NewMode: f[1], OldID: f[2], NewID: f[3], Status: f[4][0]}
		return nil
	}, args...)
	return diffs, err
}

// HashObject writes content as an object of a type ("blob", "commit") as it
// stands, without any filter, and returns its id.
func (r *Repo) HashObject(ctx context.Context, kind string, content io.Reader) (string, error) {
	return r.Output(ctx, Opts{Stdin: content}, "hash-object", "-t", kind, "-w", "--no-filters", "--stdin")
}

// HashFile writes content as the blob that git would store for a file at path:
// with the conversions git does itself (line ends, encodings), by the attributes
// that the view has, and without any filter program.
func (r *Repo) HashFile(ctx context.Context, path string, content io.Reader) (string, error) {
	if path == "" || strings.ContainsAny(path, "\x00") {
		return "", fault.New(fault.Invalid, "hash file", "%q is not a path", path)
	}
	return r.Output(ctx, Opts{Stdin: content}, "hash-object", "-t", "blob", "-w", "--stdin", "--path="+path)
}

// HashFiles writes the named files of the host, as they stand, as blobs and
// returns their ids in order. The files are the caller's own, named by absolute
// paths.
func (r *Repo) HashFiles(ctx context.Context, files []string) ([]string, error) {
	if len(files) == 0 {
		return nil, nil
	}
	for _, f := range files {
		if err := checkAbs(f); err != nil {
			return nil, err
		}
	}
	out, err := r.Output(ctx, Opts{Stdin: lines(files)}, "hash-object", "-t", "blob", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return nil, err
	}
	ids := strings.Split(out, "\n")
	if len(ids) != len(files) {
		return nil, fmt.Errorf("hash files: %d answers for %d files", len(ids), len(files))
	}
	return ids, nil
}

// Object is one object handed out by CatFiles.
type Object struct {
	ID   string
	Type string
	Size int64
	R    io.Reader // exactly Size bytes; valid during the call only
}

// CatFiles reads objects, in order, through one git process. A name that is
// missing is an error of code not_found.
func (r *Repo) CatFiles(ctx context.Context, names []string, fn func(i int, o Object) error) error {
	if len(names) == 0 {
		return nil
	}
	for _, n := range names {
		if err := CheckValue(n); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := readBatch(pr, names, fn)
		if err != nil {
			cancel(err)
		}
		_ = pr.CloseWithError(io.ErrClosedPipe) // unblocks the writer
		done <- err
	}()
	_, err := r.Run(ctx, Opts{Stdin: strings.NewReader(strings.Join(names, "\n") + "\n"), Stdout: pw}, "cat-file", "--batch")
	_ = pw.CloseWithError(io.EOF) // cannot fail
	if readErr := <-done; readErr != nil && !errors.Is(readErr, io.ErrUnexpectedEOF) && !errors.Is(readErr, io.EOF) {
		return readErr
	} else if err == nil {
		return readErr
	}
	return err
}

func readBatch(r io.Reader, names []string, fn func(int, Object) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	for i, name := range names {
		head, err := br.ReadString('\n')
		if err != nil {
			return fmt.Errorf("read object %s: %w", name, err)
		}
		f := strings.Fields(head)
		if len(f) == 2 && f[1] == "missing" {
			return fault.New(fault.NotFound, "read object", "%s is missing", name)
		}
		if len(f) != 3 {
			return fmt.Errorf("read object %s: unexpected answer %q", name, head)
		}
		size, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			return fmt.Errorf("read object %s: %w", name, err)
		}
		body := io.LimitReader(br, size)
		if err := fn(i, Object{ID: f[0], Type: f[1], Size: size, R: body}); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return fmt.Errorf("read object %s: %w", name, err)
		}
		if _, err := br.Discard(1); err != nil { // the newline after the body
			return fmt.Errorf("read object %s: %w", name, err)
		}
	}
	return nil
}

// ReadObject returns one object's contents, at most limit bytes.
func (r *Repo) ReadObject(ctx context.Context, name string, limit int64) (kind string, data []byte, err error) {
	err = r.CatFiles(ctx, []string{name}, func(_ int, o Object) error {
		if o.Size > limit {
			return fault.New(fault.Unsupported, "read object", "%s has %d bytes, more than %d", name, o.Size, limit)
		}
		kind = o.Type
		data, err = io.ReadAll(o.R)
		return err
	})
	return kind, data, err
}
