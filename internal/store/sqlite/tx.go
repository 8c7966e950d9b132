package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/ambit-run/ambit/fault"
)

// update runs fn in one writing transaction, which holds the write lock from
// its first moment. fn must not use the Store.
func (s *Store) update(ctx context.Context, op string, fn func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return asFault(op, s.path, fmt.Errorf("begin: %w", err))
	}
	if err := fn(tx); err != nil {
		return asFault(op, s.path, errors.Join(err, tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return asFault(op, s.path, fmt.Errorf("commit: %w", err))
	}
	return nil
}

// note is update for what says nothing in another boot: its commit is not synced.
// What is read and written is as consistent, and the next update makes it durable
// too. Nothing that a decision stands on goes this way.
func (s *Store) note(ctx context.Context, op string, fn func(*sql.Tx) error) (err error) {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return asFault(op, s.path, err)
	}
	defer func() { err = asFault(op, s.path, errors.Join(err, conn.Close())) }()
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous=NORMAL"); err != nil {
		return fmt.Errorf("do without a sync: %w", err)
	}
	defer func() {
		back, rerr := context.WithoutCancel(ctx), error(nil)
		if _, rerr = conn.ExecContext(back, "PRAGMA synchronous=FULL"); rerr == nil {
			rerr = conn.Raw(func(c any) error { return mustSync(back, c) })
		}
		if rerr != nil { // a connection that might not sync is used by nobody
			_ = conn.Raw(func(any) error { return driver.ErrBadConn })
			err = errors.Join(err, fmt.Errorf("sync again: %w", rerr))
		}
	}()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// mustSync fails for a connection that does not sync its commits.
func mustSync(ctx context.Context, c any) error {
	conn, ok := c.(driver.Conn)
	if !ok {
		return fmt.Errorf("the driver's connection is a %T", c)
	}
	got, err := readPragma(ctx, conn, "synchronous")
	if err == nil && got != "2" {
		err = fmt.Errorf("synchronous is %s", got)
	}
	return err
}

// view runs fn on one snapshot.
func (s *Store) view(ctx context.Context, op string, fn func(*sql.Tx) error) error {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return asFault(op, s.path, fmt.Errorf("begin: %w", err))
	}
	// Nothing was written: ending the snapshot is all that is left to do.
	return asFault(op, s.path, errors.Join(fn(tx), tx.Rollback()))
}

// each calls scan for every row of a query.
func each(ctx context.Context, tx *sql.Tx, scan func(*sql.Rows) error, query string, args ...any) (err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func noPlan(id string) error {
	return fault.New(fault.NotFound, "", "no plan is called %q", id)
}
