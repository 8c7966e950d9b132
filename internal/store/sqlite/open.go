package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// Store is an open database. Safe for concurrent use.
type Store struct {
	path  string
	write *sql.DB // one connection: SQLite has one writer, so queue here and not on its lock
	read  *sql.DB // a few read-only connections, which a writer does not block
	once  sync.Once
	err   error

	mu   sync.Mutex
	last written // what this process wrote last
}

var _ engine.Store = (*Store)(nil)

// readers is how many queries of one process run at once. `ps`, a holder and a
// progress line together need no more.
const readers = 4

// patience is how long a connection waits for another process's lock. A writing
// transaction here takes milliseconds; five seconds of waiting is a hung disk
// or a stopped process, and worth saying.
const patience = 5 * time.Second

// settings every connection must have, with the value SQLite reads back.
// journal_mode lies in the file and is set by the writer only.
var settings = []struct{ pragma, set, want string }{
	{"busy_timeout", "5000", "5000"}, // milliseconds: patience
	{"foreign_keys", "1", "1"},
	{"trusted_schema", "0", "0"}, // the file cannot make us run functions
}

var writeSettings = []struct{ pragma, set, want string }{
	{"journal_mode", "WAL", "wal"},
	{"synchronous", "FULL", "2"}, // fsync of the log at every commit
	{"fullfsync", "1", "1"},      // and through the drive's cache where fsync alone does not
	{"checkpoint_fullfsync", "1", "1"},
}

// Open opens the database at path, an absolute file name, and brings its schema
// up to date. A missing one is made with mode 0600 in a folder of mode 0700.
//
// Errors: unsupported if a newer ambit wrote it (nothing is touched); denied if
// it cannot be read or written; unavailable if it is damaged, locked for longer
// than five seconds, or the disk is full.
func Open(ctx context.Context, path string) (*Store, error) {
	const op = "open store"
	if !filepath.IsAbs(path) {
		return nil, fault.New(fault.Invalid, op, "%q is not an absolute path", path)
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(ctx, path); err != nil {
			return nil, asFault(op, path, err)
		}
	}
	s, err := connect(ctx, path)
	if err != nil {
		return nil, asFault(op, path, err)
	}
	return s, nil
}

// connect opens the pools of a database that exists. The reader comes first: as
// long as it has not seen the version nothing may be written.
func connect(ctx context.Context, path string) (_ *Store, err error) {
	s := &Store{path: path}
	live.add(path)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.read, err = pool(path, false, readers); err != nil {
		return nil, err
	}
	if s.write, err = pool(path, true, 1); err != nil {
		return nil, err
	}
	have, err := schemaVersion(ctx, s.read)
	if err != nil {
		return nil, err
	}
	if err := s.write.PingContext(ctx); err != nil {
		return nil, err
	}
	if have < latest {
		if err := migrate(ctx, path, s.write); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Close ends the connections. Safe to call twice.
func (s *Store) Close() error {
	s.once.Do(func() {
		// The writer last: the connection that closes last folds the log into the
		// file, and a reader cannot.
		for _, db := range []*sql.DB{s.read, s.write} {
			if db != nil {
				s.err = errors.Join(s.err, db.Close())
			}
		}
		live.drop(s.path)
		s.err = asFault("close store", s.path, s.err)
	})
	return s.err
}

// live counts the open stores of this process by path: see SetAside.
var live = &openPaths{n: map[string]int{}}

type openPaths struct {
	mu sync.Mutex
	n  map[string]int
}

func (o *openPaths) add(p string)      { o.mu.Lock(); o.n[p]++; o.mu.Unlock() }
func (o *openPaths) drop(p string)     { o.mu.Lock(); o.n[p]--; o.mu.Unlock() }
func (o *openPaths) has(p string) bool { o.mu.Lock(); defer o.mu.Unlock(); return o.n[p] > 0 }

// pool returns a connection pool; it does not connect yet.
func pool(path string, writable bool, size int) (*sql.DB, error) {
	base, err := sqlite.NewConnector(dsn(path, writable))
	if err != nil {
		return nil, fmt.Errorf("read data source name: %w", err)
	}
	db := sql.OpenDB(checked{Connector: base, writable: writable})
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// dsn spells a data source in the driver's own style; the names that other
// drivers use would be ignored without a word.
func dsn(path string, writable bool) string {
	var b strings.Builder
	b.WriteString("file://")
	b.WriteString((&url.URL{Path: path}).EscapedPath())
	if writable {
		b.WriteString("?mode=rw&_txlock=immediate")
	} else {
		b.WriteString("?mode=ro&_txlock=deferred")
	}
	b.WriteString("&_dqs=0&_defensive=1")
	for _, s := range settings {
		fmt.Fprintf(&b, "&_pragma=%s(%s)", s.pragma, s.set)
	}
	if writable {
		for _, s := range writeSettings {
			fmt.Fprintf(&b, "&_pragma=%s(%s)", s.pragma, s.set)
		}
	}
	return b.String()
}

// checked refuses a connection whose settings are not what was asked for.
type checked struct {
	driver.Connector
	writable bool
}

func (c checked) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	want := settings
	if c.writable {
		want = append(want[:len(want):len(want)], writeSettings...)
	}
	for _, s := range want {
		got, err := readPragma(ctx, conn, s.pragma)
		if err == nil && got != s.want {
			err = fault.New(fault.Unsupported, "", "SQLite keeps %s at %q instead of %q", s.pragma, got, s.want).
				WithHint("put ambit's state on a local file system: set AMBIT_HOME")
		}
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

func readPragma(ctx context.Context, conn driver.Conn, name string) (string, error) {
	q, ok := conn.(driver.QueryerContext)
	if !ok {
		return "", fault.New(fault.Internal, "", "the SQLite driver's connection is a %T", conn)
	}
	rows, err := q.QueryContext(ctx, "PRAGMA "+name, nil)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	v := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(v)
	if cerr := rows.Close(); err == nil {
		err = cerr
	}
	if err != nil || len(v) != 1 {
		return "", fmt.Errorf("read %s: %d columns: %w", name, len(v), err)
	}
	return fmt.Sprint(v[0]), nil
}
