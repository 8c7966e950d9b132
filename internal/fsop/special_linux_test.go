package fsop

import (
	"context"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/fault"
)

func TestV4_C41_SpecialFilesAreNeverOpened(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	made := s.specials("sp")
	if len(made) < 2 {
		t.Fatalf("only %v could be made", made)
	}
	for rel, kind := range made {
		within(t, "looking at "+rel, func() {
			info, err := s.root.Stat(rel)
			must(t, err)
			if info.Kind != kind {
				t.Errorf("%s is a %v, want %v", rel, info.Kind, kind)
			}
			_, _, err = s.root.Open(rel)
			wantCode(t, err, fault.Conflict)
			_, err = ReadFile(s.root, rel, 10)
			wantCode(t, err, fault.Conflict)
			_, _, err = HashFile(t.Context(), s.root, rel)
			wantCode(t, err, fault.Conflict)
			_, err = CopyFile(t.Context(), s.root, rel, s.root, "copy", CopyOptions{})
			wantCode(t, err, fault.Conflict)
			_, err = s.root.OpenDir(rel)
			wantCode(t, err, fault.Conflict)
			_, err = s.root.Create(rel, 0o600)
			wantCode(t, err, fault.Exists)
			must(t, s.root.Chmod(rel, 0o600))
		})
	}
	within(t, "listing", func() {
		entries, err := s.root.ReadDir("sp")
		must(t, err)
		for _, e := range entries {
			if made["sp/"+e.Name] != e.Kind {
				t.Errorf("ReadDir says %s is a %v", e.Name, e.Kind)
			}
		}
		seen := 0
		must(t, s.root.Walk(t.Context(), "sp", WalkOptions{}, func(path string, info Info) error {
			seen++
			if made[path] != info.Kind {
				t.Errorf("Walk says %s is a %v", path, info.Kind)
			}
			return nil
		}))
		if seen != len(made) {
			t.Errorf("Walk saw %d of %d", seen, len(made))
		}
	})
	for rel := range made {
		within(t, "writing over "+rel, func() { must(t, WriteFileAtomic(s.root, rel, []byte("x"), 0o600)) })
	}
	must(t, s.root.RemoveAll("sp"))
}

func TestC41_CopyListsSpecialFilesAndGoesOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	made := s.specials("src/deep")
	s.write("src/deep/z", "after them")
	within(t, "CopyTree", func() {
		stats, err := CopyTree(t.Context(), s.root, "src", s.root, "dst", TreeOptions{})
		must(t, err)
		if len(stats.Skipped) != len(made) {
			t.Errorf("skipped %v, want %d", stats.Skipped, len(made))
		}
		for _, sk := range stats.Skipped {
			kind, ok := made["src/"+sk.Path]
			if !ok || sk.Reason != kind.String() {
				t.Errorf("skipped %+v, made %v", sk, made)
			}
		}
	})
	if data, err := ReadFile(s.root, "dst/deep/z", 100); err != nil || string(data) != "after them" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestErrorsKeepTheErrnoAndNameThePath(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("d/f", "x")
	cases := []struct {
		err  error
		no   error
		code fault.Code
	}{
		{second(s.root.Stat("absent")), unix.ENOENT, fault.NotFound},
		{second(s.root.Stat("absent")), os.ErrNotExist, fault.NotFound},
		{second(s.root.Create("d/f", 0o600)), os.ErrExist, fault.Exists},
		{s.root.Mkdir("d", 0o700), unix.EEXIST, fault.Exists},
		{s.root.Remove("d"), unix.ENOTEMPTY, fault.Conflict},
		{s.root.Rename("d", s.root, "d"), unix.EEXIST, fault.Exists},
		{second(s.root.Stat("d/f/x")), unix.ENOTDIR, fault.Conflict},
		{second(s.root.Readlink("d")), unix.EINVAL, fault.Conflict},
		{second(s.root.GetXattr("d", "user.none")), unix.ENOENT, fault.NotFound},
		{second(ReadFile(s.root, "d/f", 0)), nil, fault.Invalid},
	}
	for i, c := range cases {
		wantCode(t, c.err, c.code)
		if c.no != nil && !errors.Is(c.err, c.no) {
			t.Errorf("case %d: %v is not %v", i, c.err, c.no)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCode(t, s.root.Walk(ctx, ".", WalkOptions{}, func(string, Info) error { return nil }), fault.Canceled)
	_, err := CopyTree(ctx, s.root, "d", s.root, "e", TreeOptions{})
	wantCode(t, err, fault.Canceled)
}

func second[T any](_ T, err error) error { return err }

func TestClosedDirIsAnErrorNotAnotherDescriptor(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d, err := s.root.Dup()
	must(t, err)
	must(t, d.Close())
	must(t, d.Close())
	wantCode(t, second(d.Stat(".")), fault.Internal)
	wantCode(t, d.Mkdir("x", 0o700), fault.Internal)
	wantCode(t, second(d.Dup()), fault.Internal)
	_, err = FromFD(mustFD(t, "/proc/self/status"), "x")
	wantCode(t, err, fault.Conflict)
}

func mustFD(t *testing.T, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must(t, err)
	return fd
}

// TestDirIsSafeForConcurrentUseAndClose is for the race detector, and for a
// descriptor number that is reused while a call is under way.
func TestDirIsSafeForConcurrentUseAndClose(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("f", "inside")
	for range 50 {
		d, err := s.root.Dup()
		must(t, err)
		done := make(chan error, 4)
		for range 4 {
			go func() {
				for {
					data, err := ReadFile(d, "f", 100)
					if err != nil {
						done <- err
						return
					}
					if string(data) != "inside" {
						done <- errors.New("read something else: " + string(data))
						return
					}
				}
			}()
		}
		must(t, d.Close())
		for range 4 {
			wantCode(t, <-done, fault.Internal)
		}
	}
}
