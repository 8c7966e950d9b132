package copytree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// probeLimit bounds the walk that measures the source. A tree beyond it is
// copied all the same; whether it fits is then only known in parts.
const probeLimit = 500_000

// reserve is how much of a file system a copy leaves free: 64 MiB, so that the
// state beside it can still be written.
const reserve = 64 << 20

// Probe says whether the resource can be copied into req.Dir: both are there,
// neither lies in the other, space and inodes suffice, what is mounted below can
// be copied, git is to be had for a checkout. The reason says whether blocks can
// be shared with the original.
func (s *Strategy) Probe(ctx context.Context, req engine.CreateRequest) (engine.Probe, error) {
	p, err := s.probe(ctx, req)
	if err != nil {
		return engine.Probe{}, edge("probe "+string(s.name), err)
	}
	return p, nil
}

func (s *Strategy) probe(ctx context.Context, req engine.CreateRequest) (engine.Probe, error) {
	if s.fill != nil {
		if err := apart(req.Resource.Path, req.Dir); err != nil {
			return no(err.Error()), nil
		}
		return s.fill.Probe(ctx, req)
	}
	if runtime.GOOS != "linux" {
		return no("copies need Linux here: file access that is safe against races is not to be had on " + runtime.GOOS), nil
	}
	src, err := s.openRoot(req.Resource.Path)
	if err != nil {
		if c := fault.CodeOf(err); c == fault.NotFound || c == fault.Denied || c == fault.Conflict {
			return no(err.Error()), nil
		}
		return engine.Probe{}, err
	}
	defer src.Close()
	dst, err := s.openRoot(req.Dir)
	if err != nil {
		return engine.Probe{}, err
	}
	defer dst.Close()
	var missing []string
	if err := apart(req.Resource.Path, req.Dir); err != nil {
		missing = append(missing, err.Error())
	}
	missing = append(missing, s.probeGit(ctx, req)...)
	foreign, err := uncopyableMounts(req.Resource.Path)
	if err != nil {
		return engine.Probe{}, err
	}
	missing = append(missing, foreign...)
	if len(missing) > 0 {
		return no(missing...), nil
	}
	size, err := s.measure(ctx, src)
	if err != nil {
		return engine.Probe{}, err
	}
	files := size.apparent
	if size.more {
		files = 0 // more than was counted
	}
	if g := req.Resource.Git; g != nil {
		if err := s.measureGit(ctx, g, &size); err != nil {
			return engine.Probe{}, err
		}
	}
	info, err := dst.Statfs()
	if err != nil {
		return engine.Probe{}, err
	}
	shares := false
	if s.name == engine.StrategyCopyOnWrite && size.sample != "" {
		if shares, err = s.tryReflink(ctx, src, size.sample, dst); err != nil {
			return engine.Probe{}, err
		}
	}
	if shares {
		size.bytes = 0
	}
	if need := size.bytes + reserve; uint64(need) > info.FreeBytes {
		missing = append(missing, fmt.Sprintf("the copy needs %s, the file system of %s has %s free: free some space, or point AMBIT_HOME elsewhere",
			amount(need), req.Dir, amount(int64(info.FreeBytes))))
	}
	if info.HasInodes && uint64(size.entries) > info.FreeInodes {
		missing = append(missing, fmt.Sprintf("the copy needs %d inodes, the file system of %s has %d free: remove some files, or point AMBIT_HOME elsewhere",
			size.entries, req.Dir, info.FreeInodes))
	}
	if len(missing) > 0 {
		return no(missing...), nil
	}
	return engine.Probe{OK: true, Reason: s.reason(size, shares, info.Type), Bytes: files}, nil
}

func no(missing ...string) engine.Probe { return engine.Probe{Reason: missing[0], Missing: missing} }

func (s *Strategy) reason(size measured, shares bool, fsType string) string {
	what := fmt.Sprintf("%d files, %s", size.files, amount(size.apparent))
	if size.more {
		what = "more than " + what
	}
	switch {
	case shares:
		return fmt.Sprintf("a copy of %s that shares its blocks with the original (%s)", what, fsType)
	case s.name == engine.StrategyCopyOnWrite:
		return fmt.Sprintf("a plain copy of %s: %s cannot share blocks with the original", what, fsType)
	}
	return fmt.Sprintf("a plain copy of %s", what)
}

// measured is the size of a source.
type measured struct {
	entries, files  int64
	bytes, apparent int64 // allocated, and as files say
	more            bool  // the walk was cut off
	sample          string
}

func (s *Strategy) measure(ctx context.Context, src *fsop.Dir) (m measured, err error) {
	opts := fsop.WalkOptions{OnError: func(_ string, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return nil // left out and listed by Create
		}
		return err
	}}
	err = src.Walk(ctx, ".", opts, func(path string, info fsop.Info) error {
		if m.entries == probeLimit {
			m.more = true
			return fs.SkipAll
		}
		m.entries++
		if info.Kind == fsop.KindFile {
			m.files++
			m.bytes += info.Blocks * 512
			m.apparent += info.Size
			if m.sample == "" && info.Size > 0 && info.Mode&0o400 != 0 {
				m.sample = path
			}
		}
		return nil
	})
	return m, err
}

// tryReflink clones one file of the source and removes the clone.
func (s *Strategy) tryReflink(ctx context.Context, src *fsop.Dir, sample string, dst *fsop.Dir) (bool, error) {
	name := fsop.TempName()
	res, err := fsop.CopyFile(ctx, src, sample, dst, name, fsop.CopyOptions{SkipXattr: func(string) bool { return true }, DropSetuid: true})
	if rerr := dst.RemoveAll(name); rerr != nil {
		return false, rerr
	}
	switch fault.CodeOf(err) {
	case "":
		return res.Reflinked, nil
	case fault.NotFound, fault.Denied, fault.Conflict, fault.Unavailable:
		return false, nil // it vanished, may not be read, or there is no room: said elsewhere
	default:
		return false, err
	}
}

// apart refuses a sandbox folder that is the source or lies in it (C54). Objects
// are compared, not spellings: a bind mount or a link is no way round.
func apart(source, dir string) error {
	src, err := os.Stat(source)
	if err != nil {
		return err
	}
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if os.SameFile(src, info) {
			return fault.New(fault.Invalid, "", "the sandbox folder %s lies inside %s, which it would have to copy", dir, source).
				WithHint("point AMBIT_HOME at a folder outside of it")
		}
		if at == "/" {
			return nil
		}
		at = filepath.Dir(at)
	}
}

// amount renders bytes for a person.
func amount(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d kB", n>>10)
	case n < 10<<30:
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d GB", n>>30)
}
