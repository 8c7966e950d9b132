package fsop

import (
	"crypto/sha256"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// attack exchanges two names in a loop until stop is called.
func attack(t *testing.T, a, b string) (stop func()) {
	t.Helper()
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
			}
		}
	})
	return sync.OnceFunc(func() { close(quit); wg.Wait() })
}

// put makes a file without waiting for the disk.
func put(d *Dir, rel string) {
	_ = d.RemoveAll(rel)
	if f, err := d.Create(rel, 0o644); err == nil {
		_, _ = f.WriteString("inside")
		_ = f.Close()
	}
}

// contest repeats f against the attacker until both outcomes were seen often
// enough that the race was really run, or time is up.
func contest(t *testing.T, f func() error) {
	t.Helper()
	const enough = 300
	won, refused := 0, 0
	for end := time.Now().Add(15 * time.Second); (won < enough || refused < enough) && time.Now().Before(end); {
		if f() == nil {
			won++
		} else {
			refused++
		}
	}
	if won == 0 || refused == 0 {
		t.Errorf("the race was not run: %d done, %d refused", won, refused)
	}
}

// TestV4_V5_V20_RaceTargetIsExchangedWithALink: a file and a link to a file outside change places.
func TestV4_V5_V20_RaceTargetIsExchangedWithALink(t *testing.T) {
	t.Parallel()
	insideOnly := func(t *testing.T, s *scene, rel string) error {
		data, err := ReadFile(s.root, rel, 100)
		if err == nil && string(data) != "inside" {
			t.Fatalf("read %q", data)
		}
		return err
	}
	ops := map[string]func(t *testing.T, s *scene) error{
		"read":  func(t *testing.T, s *scene) error { return insideOnly(t, s, "x") },
		"chmod": func(_ *testing.T, s *scene) error { return s.root.Chmod("x", 0o777) },
		"copy from": func(t *testing.T, s *scene) error {
			_, err := CopyFile(t.Context(), s.root, "x", s.root, "copy", CopyOptions{Replace: true})
			if err == nil {
				return insideOnly(t, s, "copy")
			}
			return err
		},
		"hash": func(t *testing.T, s *scene) error {
			sum, _, err := HashFile(t.Context(), s.root, "x")
			if want := fmt.Sprintf("%x", sha256.Sum256([]byte("inside"))); err == nil && sum != want {
				t.Fatalf("hash %s", sum)
			}
			return err
		},
	}
	for name, op := range ops {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.write("x", "inside")
			s.symlink(s.outside+"/secret", "y")
			stop := attack(t, s.in+"/x", s.in+"/y")
			defer stop()
			contest(t, func() error { return op(t, s) })
			stop()
			s.untouched()
		})
	}
}

// TestV2_V8_V16_V21_RaceParentIsExchangedWithALink: a directory and a link to one outside change places.
func TestV2_V8_V16_V21_RaceParentIsExchangedWithALink(t *testing.T) {
	t.Parallel()
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.write("plain", "inside")
			s.write("plaindir/f", "inside")
			s.write("p/sub/f", "inside")
			s.write("p/secret", "inside")
			s.symlink(s.outside, "q")
			stop := attack(t, s.in+"/p", s.in+"/q")
			defer stop()
			for end := time.Now().Add(time.Second / 5); time.Now().Before(end); {
				_ = op.run(s.root, "p/secret")
				_ = op.run(s.root, "p/sub/f")
				_ = op.run(s.root, "p/new")
				_ = op.run(s.root, "p/sub")
				_ = op.run(s.root, "p")
				for _, n := range []string{"fresh-name", "p/new", "q/new"} {
					_ = s.root.RemoveAll(n)
				}
				_ = s.root.MkdirAll("p/sub", 0o755)
				put(s.root, "p/sub/f")
				put(s.root, "p/secret")
				put(s.root, "plain")
			}
			stop()
			s.untouched()
		})
	}
}

// TestV5_V21_RaceTreesAreExchangedWithLinks runs the operations that go through whole trees.
func TestV5_V21_RaceTreesAreExchangedWithLinks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	build := func() {
		for i := range 20 {
			for j := range 3 {
				rel := fmt.Sprintf("tree/d%d/e%d", i, j)
				_ = s.root.MkdirAll(rel, 0o755)
				put(s.root, rel+"/f")
			}
		}
	}
	build()
	for i := range 20 {
		s.symlink(s.outside, fmt.Sprintf("links/d%d", i))
	}
	var stops []func()
	for i := range 2 {
		for j := range 4 {
			n := fmt.Sprintf("d%d", 10*i+j)
			stop := attack(t, s.in+"/tree/"+n, s.in+"/links/"+n)
			defer stop()
			stops = append(stops, stop)
		}
	}
	rounds := 0
	for end := time.Now().Add(4 * time.Second); rounds < 5 || time.Now().Before(end); rounds++ {
		_ = s.root.Walk(t.Context(), "tree", WalkOptions{}, func(path string, info Info) error {
			if info.Kind == KindFile && info.Size == int64(len("outside")) {
				t.Errorf("Walk came to %s outside", path)
			}
			return nil
		})
		_ = s.root.RemoveAll("copy")
		_, _ = CopyTree(t.Context(), s.root, "tree", s.root, "copy", TreeOptions{})
		_ = s.root.Walk(t.Context(), "copy", WalkOptions{}, func(path string, info Info) error {
			if info.Kind == KindFile && info.Size != int64(len("inside")) {
				t.Errorf("CopyTree brought in %s", path)
			}
			return nil
		})
		_, _ = CopyTree(t.Context(), s.root, "copy", s.root, "tree", TreeOptions{})
		if rounds%3 == 2 {
			_ = s.root.RemoveAll("tree")
			build()
		}
	}
	for _, stop := range stops {
		stop()
	}
	s.untouched()
}

// TestV4_RaceTargetIsExchangedWithAFIFO must neither hang nor open it.
func TestV4_RaceTargetIsExchangedWithAFIFO(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.write("x", "inside")
	must(t, unix.Mkfifo(s.in+"/y", 0o666))
	stop := attack(t, s.in+"/x", s.in+"/y")
	defer stop()
	within(t, "reading", func() {
		contest(t, func() error {
			data, err := ReadFile(s.root, "x", 100)
			if err == nil && string(data) != "inside" {
				t.Errorf("read %q", data)
			}
			return err
		})
	})
	stop()
}

// TestRaceTreeIsMovedOutWhileItIsWalked: a deep tree is renamed away and back
// under a walk that has to go up through "..".
func TestRaceTreeIsMovedOutWhileItIsWalked(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	deepTree(t, s.root, "top", 3*keepOpen)
	must(t, os.Mkdir(s.base+"/elsewhere", 0o755))
	mid := s.in + "/top/d/d"
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				_ = os.Rename(mid, s.base+"/elsewhere/d")
				_ = os.Rename(s.base+"/elsewhere/d", mid)
			}
		}
	})
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		_ = s.root.Walk(t.Context(), "top", WalkOptions{}, func(path string, info Info) error {
			if info.Kind == KindFile && info.Size > 3 {
				t.Errorf("met %s of %d bytes", path, info.Size)
			}
			return nil
		})
	}
	close(quit)
	wg.Wait()
	s.untouched()
}
