package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"

	"github.com/ambit-run/ambit/fault"
)

// Migrations only ever add: an ambit that started before an upgrade keeps
// working on the upgraded file.
//
//go:embed migrations/*.sql
var migrations embed.FS

// latest is the newest migration's number. A test holds it to the folder.
const latest = 1

// applicationID marks a file as ambit's ("ambt"); migration 1 sets it.
const applicationID = 0x616d6274

// schemaVersion reads which migration a database has reached: 0 if it is empty.
// A newer one than ours, or another program's file, is unsupported. It writes
// nothing.
func schemaVersion(ctx context.Context, db *sql.DB) (int64, error) {
	var app, tables int64
	err := db.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&app, &tables)
	if err != nil {
		return 0, fmt.Errorf("read schema: %w", err)
	}
	if tables == 0 {
		return 0, nil
	}
	if app != applicationID {
		return 0, fault.New(fault.Unsupported, "", "the file is a database of another program (application id %#x)", app).
			WithHint("point AMBIT_HOME at a folder of its own, or move the file away")
	}
	var v int64
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&v)
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	if v > latest {
		return 0, fault.New(fault.Unsupported, "", "a newer ambit wrote the store (schema %d, this one knows %d)", v, latest).
			WithHint("use the newer ambit, or another state folder through AMBIT_HOME; nothing was changed")
	}
	return v, nil
}

// migrate brings a database up to date, one process at a time.
func migrate(ctx context.Context, path string, db *sql.DB) error {
	unlock, err := lockCreation(path)
	if err != nil {
		return err
	}
	defer unlock()
	return migrateLocked(ctx, db)
}

func migrateLocked(ctx context.Context, db *sql.DB) error {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, dir, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// create makes the database under another name and renames it into place when
// it is complete, so that nobody ever opens half of one.
func create(ctx context.Context, path string) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make state folder: %w", err)
	}
	unlock, err := lockCreation(path)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err // nil: another process was faster
	}
	fresh := path + ".new"
	remains := []string{fresh, fresh + "-wal", fresh + "-shm", fresh + "-journal"}
	clear := func() error {
		for _, f := range remains {
			if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("clear an unfinished database: %w", err)
			}
		}
		return nil
	}
	if err := clear(); err != nil { // left by a crash: we hold the lock, so nobody works on it
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, clear())
		}
	}()
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	err = errors.Join(f.Chmod(0o600), f.Close()) // whatever the umask
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	db, err := pool(fresh, true, 1)
	if err != nil {
		return err
	}
	// Closing folds the log into the file and fsyncs it.
	if err := errors.Join(migrateLocked(ctx, db), db.Close()); err != nil {
		return err
	}
	if _, err := os.Lstat(fresh + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Internal, "", "the new database kept its log")
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	return syncDir(dir)
}

// syncDir makes a rename inside dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open state folder: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync state folder: %w", err)
	}
	return nil
}
