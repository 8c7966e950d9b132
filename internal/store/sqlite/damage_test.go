//go:build linux

package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// broken returns the path of a closed database with some plans, damaged by fn.
func broken(t *testing.T, fn func([]byte) []byte) (path string, bytes []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ambit.db")
	s := open(t, path)
	for i := range 200 {
		if err := s.CreatePlan(t.Context(), &engine.Plan{ID: fmt.Sprintf("p%d", i), Title: strings.Repeat("x", 500)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = fn(b)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, b
}

func TestDamagedIsSaidAndKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func([]byte) []byte
		opens  bool // the damage lies where opening does not look
	}{
		"not a database": {func(b []byte) []byte { copy(b, "GIF89a"); return b }, false},
		"text":           {func([]byte) []byte { return []byte(strings.Repeat("hello\n", 1000)) }, false},
		"first page":     {func(b []byte) []byte { copy(b[100:4096], bytes.Repeat([]byte{0xa5}, 3996)); return b }, false},
		"cut":            {func(b []byte) []byte { return b[:len(b)/3] }, false},
		"later pages":    {func(b []byte) []byte { copy(b[len(b)/2:], bytes.Repeat([]byte{0xa5}, 20000)); return b }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, content := broken(t, c.damage)
			s, err := Open(t.Context(), path)
			if c.opens && err == nil {
				err = s.Check(t.Context())
				if cerr := s.Close(); cerr != nil {
					t.Error(cerr)
				}
			}
			want(t, err, fault.Unavailable, "damaged", path)
			if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, content) {
				t.Fatalf("the damaged file was changed (%v)", err)
			}
			now := time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
			kept, err := SetAside(t.Context(), path, now)
			if err != nil {
				t.Fatal(err)
			}
			if want := path + ".damaged-20261130T010203Z"; kept != want {
				t.Errorf("kept as %s, want %s", kept, want)
			}
			if b, err := os.ReadFile(kept); err != nil || !bytes.Equal(b, content) {
				t.Fatalf("what was kept is not what was there (%v)", err)
			}
			fresh := open(t, path)
			if err := fresh.CreatePlan(t.Context(), &engine.Plan{ID: "x"}); err != nil {
				t.Fatal(err)
			}
			// A second one in the same second does not overwrite the first.
			if err := fresh.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = SetAside(t.Context(), path, now)
			if !errors.Is(err, os.ErrExist) {
				t.Errorf("the first kept file was overwritten: %v", err)
			}
			if b, err := os.ReadFile(kept); err != nil || !bytes.Equal(b, content) {
				t.Fatalf("the first kept file is gone (%v)", err)
			}
		})
	}
}

func TestSetAsideRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ambit.db")
	_, err := SetAside(t.Context(), path, time.Now())
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("a missing one: %v", err)
	}
	s := open(t, path)
	_, err = SetAside(t.Context(), path, time.Now())
	want(t, err, fault.Conflict, "open")
	// The refusal has not cost us our locks: another process still sees them.
	c := spawn(t, "holder-of", path)
	out, err := c.Output()
	if err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(os.Getpid()) {
		t.Errorf("another process sees the holder %q, %v", out, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = SetAside(t.Context(), path, time.Now())
	want(t, err, fault.Conflict, "sound")
	// Open in another process.
	hold := spawn(t, "hold", path)
	pipe, err := hold.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := hold.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hold.Process.Kill(); _ = hold.Wait() })
	var word string
	if _, err := fmt.Fscanln(pipe, &word); err != nil {
		t.Fatal(err)
	}
	_, err = SetAside(t.Context(), path, time.Now())
	want(t, err, fault.Conflict, fmt.Sprint(hold.Process.Pid))
}

// inNamespace runs a role of child where it may mount. It returns what the
// child printed, or skips.
func inNamespace(t *testing.T, role string) string {
	t.Helper()
	c := spawn(t, role, filepath.Join(t.TempDir(), "m", "ambit.db"))
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skipf("no user namespace on this machine: %v", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// namespaced are the roles of child that need a mount of their own.
func namespaced(ctx context.Context, role, path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=700"); err != nil {
		return err
	}
	say := func(what string, err error) {
		f := fault.As(err)
		if f == nil {
			f = &fault.Error{}
		}
		fmt.Printf("%s|%s|%v|%v\n", what, f.Code, err, f.Hint != "")
	}
	s, err := Open(ctx, path)
	if err != nil {
		return err
	}
	if err := s.CreatePlan(ctx, &engine.Plan{ID: "first"}); err != nil {
		return err
	}
	switch role {
	case "full":
		for i := range 1000 {
			p := &engine.Plan{ID: fmt.Sprintf("p%d", i), Title: strings.Repeat("x", 10000)}
			if err = s.CreatePlan(ctx, p); err != nil {
				break
			}
		}
		say("write", err)
		_, err = s.Plan(ctx, "first")
		say("read", err)
		say("check", s.Check(ctx))
		// Nothing at all is left: opening and creating say so, too.
		_ = os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 2<<20), 0o600)
		_, err = Open(ctx, filepath.Join(dir, "sub", "ambit.db"))
		say("create", err)
		if err := os.Remove(filepath.Join(dir, "ballast")); err != nil {
			return err
		}
	case "read-only":
		if err := s.Close(); err != nil {
			return err
		}
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
			return err
		}
		_, err = Open(ctx, path)
		say("open", err)
		_, err = Open(ctx, filepath.Join(dir, "sub", "ambit.db"))
		say("create", err)
	}
	return nil
}

func reports(t *testing.T, out, line, code string, mentions string) {
	t.Helper()
	for l := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(l), "|")
		if f[0] != line {
			continue
		}
		if f[1] != code || (code != "" && f[3] != "true") || !strings.Contains(f[2], mentions) {
			t.Errorf("%s: want code %q, a hint and %q in %q", line, code, mentions, l)
		}
		return
	}
	t.Errorf("no line %q in:\n%s", line, out)
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	out := inNamespace(t, "full")
	reports(t, out, "write", "unavailable", "no space left")
	reports(t, out, "read", "", "")
	reports(t, out, "check", "", "")
	reports(t, out, "create", "unavailable", "no space left")
}

func TestReadOnlyFileSystem(t *testing.T) {
	t.Parallel()
	out := inNamespace(t, "read-only")
	reports(t, out, "open", "denied", "cannot be")
	reports(t, out, "create", "denied", "cannot be written")
}

func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root writes into any folder; TestReadOnlyFileSystem covers it")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "ambit.db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	_, err := Open(t.Context(), path)
	want(t, err, fault.Denied, path)
	_, err = Open(t.Context(), filepath.Join(dir, "sub", "ambit.db"))
	want(t, err, fault.Denied)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), path)
	want(t, err, fault.Denied, path)
}
