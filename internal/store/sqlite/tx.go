package sqlite

import (
	"context"
	"database/sql"
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
