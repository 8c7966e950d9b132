//go:build linux

package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if role := os.Getenv("STORE_CHILD"); role != "" {
		os.Exit(child(role))
	}
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		path := filepath.Join(t.TempDir(), "state", "ambit.db")
		return func(t *testing.T) engine.Store { return open(t, path) }
	})
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func want(t *testing.T, err error, code fault.Code, mentions ...string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("want code %s, got %s: %v", code, fault.CodeOf(err), err)
	}
	for _, m := range mentions {
		if !strings.Contains(err.Error(), m) {
			t.Errorf("%q does not mention %q", err, m)
		}
	}
	if fault.As(err).Hint == "" {
		t.Errorf("no hint: %v", err)
	}
}

func TestLatestIsTheNewestMigration(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) != latest {
		t.Fatalf("%d migrations, latest = %d (%v)", len(names), latest, err)
	}
	s := open(t, filepath.Join(t.TempDir(), "a.db"))
	v, err := schemaVersion(t.Context(), s.read)
	if err != nil || v != latest {
		t.Fatalf("a new database has version %d, %v", v, err)
	}
}

func TestMissingIsCreatedPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "ambit.db")
	s := open(t, path)
	if err := s.CreatePlan(t.Context(), &engine.Plan{ID: "x"}); err != nil {
		t.Fatal(err)
	}
	// While it is open the log and the shared memory are there, too.
	for name, mode := range map[string]os.FileMode{
		dir: 0o700 | os.ModeDir, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, path + ".lock": 0o600,
	} {
		fi, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode() != mode {
			t.Errorf("%s has mode %v, want %v", name, fi.Mode(), mode)
		}
	}
}

func TestOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b", "a?mode=memory", "a%41", "a#b", "a&_pragma=x", "a;b", "\xff", "é"} {
		dir := filepath.Join(t.TempDir(), name)
		path := filepath.Join(dir, "ambit.db")
		s := open(t, path)
		if err := s.CreatePlan(t.Context(), &engine.Plan{ID: "x"}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := os.Stat(path + "-wal"); err != nil {
			t.Errorf("%q: the database is somewhere else: %v", name, err)
		}
	}
	_, err := Open(t.Context(), "relative.db")
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("a relative path: %v", err)
	}
}

func TestSettingsAreReadBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	s := open(t, path)
	var mode string
	if err := s.write.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Fatalf("journal mode %q, %v", mode, err)
	}
	if _, err := s.read.ExecContext(t.Context(), "DELETE FROM plans"); err == nil {
		t.Error("the read pool can write")
	}
	// A setting that SQLite does not take is noticed: memory databases have no log.
	c := checked{Connector: mustConnector(t, strings.Replace(dsn(path, true), "mode=rw", "mode=memory", 1)), writable: true}
	db := sql.OpenDB(c)
	err := db.PingContext(t.Context())
	if !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), "journal_mode") {
		t.Errorf("a database without a log was accepted: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func digest(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.Sum256(b)
	return string(h[:])
}

// A lease is written without a sync; what comes after it on the same connection
// must not be, whether the lease was given or refused.
func TestOnlyLeasesAreNotSynced(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "ambit.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sync := func() (n int) {
		t.Helper()
		if err := s.write.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var during int
	if err := s.note(t.Context(), "look", func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&during)
	}); err != nil || during != 1 {
		t.Fatalf("synchronous is %d in a note: %v", during, err)
	}
	if n := sync(); n != 2 {
		t.Errorf("synchronous is %d after a note", n)
	}
	refused := errors.New("refused")
	if err := s.note(t.Context(), "fail", func(*sql.Tx) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a note that fails: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := s.note(ctx, "be cancelled", func(*sql.Tx) error { cancel(refused); return nil }); err == nil {
		t.Error("a note that is cancelled before its commit says nothing")
	}
	if n := sync(); n != 2 {
		t.Errorf("synchronous is %d after notes that failed", n)
	}
}

func TestNewerIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ambit.db")
	s := open(t, path)
	_, err := s.write.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (77, 1)`)
	if err != nil {
		t.Fatal(err)
	}
	// Once with the change still in the log, once folded into the file.
	for _, folded := range []bool{false, true} {
		if folded {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		before := digest(t, path)
		_, err := Open(t.Context(), path)
		want(t, err, fault.Unsupported, "newer", "77")
		if digest(t, path) != before {
			t.Errorf("folded %v: the file was changed", folded)
		}
	}
}

func TestForeignDatabaseIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ambit.db")
	db, err := sql.Open("sqlite", "file://"+path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE plans (id)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before := digest(t, path)
	_, err = Open(t.Context(), path)
	want(t, err, fault.Unsupported, "another program")
	if digest(t, path) != before {
		t.Error("the file was changed")
	}
}

func TestUnfinishedCreationIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ambit.db")
	for _, f := range []string{".new", ".new-wal", ".new-shm", ".new-journal"} {
		if err := os.WriteFile(path+f, []byte("rubbish of a crash"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, path)
	if err := s.CreatePlan(t.Context(), &engine.Plan{ID: "x"}); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(path + ".new*")
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestEmptyFileIsMigrated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ambit.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path).CreatePlan(t.Context(), &engine.Plan{ID: "x"}); err != nil {
		t.Fatal(err)
	}
}

// TestLeafKeepsBytes: any string survives the JSON document.
func TestLeafKeepsBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "special") {
			s += "\U0010ff00\U0010ffff\ufffd" + s
		}
		in := engine.Plan{Agent: []string{s}, Notices: []string{s, ""}}
		doc, err := encodeLeaf(in)
		if err != nil {
			t.Fatal(err)
		}
		var out engine.Plan
		if err := decodeLeaf(doc, &out); err != nil {
			t.Fatal(err)
		}
		if out.Agent[0] != s || out.Notices[0] != s || in.Agent[0] != s {
			t.Fatalf("%q came back as %q", s, out.Agent[0])
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "ambit.db")
	open(b, path)
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(context.Background(), path)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "ambit.db"))
	p := &engine.Plan{ID: "x", Steps: make([]engine.Step, 20)}
	for i := range p.Steps {
		p.Steps[i].ID = string(rune('a' + i))
	}
	if err := s.CreatePlan(b.Context(), p); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Steps[3].Runs++
		if err := s.UpdatePlan(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
}
