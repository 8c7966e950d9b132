package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

const leaseColumns = `key, plan, pid, start, boot_id, pid_ns, since`

// AcquireLease takes l.Key for l's process. The process that holds it already
// keeps it, with l's Plan and Since. alive is asked about another holder while
// the write lock is held, so it must be quick and must not use the Store; nil
// counts every holder as alive. A power cut may take it back, and with it the
// process that holds it: that is no loss.
func (s *Store) AcquireLease(ctx context.Context, l engine.Lease, alive func(engine.Lease) bool) error {
	const op = "acquire lease"
	if err := wellFormed(l); err != nil {
		return asFault(op, s.path, err)
	}
	return s.note(ctx, op, func(tx *sql.Tx) error {
		held, err := scanLease(tx.QueryRowContext(ctx, `SELECT `+leaseColumns+` FROM leases WHERE key = ?`, l.Key))
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return fmt.Errorf("read lease: %w", err)
		case sameHolder(held, l):
		case alive == nil || alive(held):
			return fault.New(fault.Conflict, "", "%s is held by process %d since %s", l.Key, held.PID, held.Since.Format(time.RFC3339)).
				WithHint("wait until process %d is done, or end it", held.PID)
		}
		return putLease(ctx, tx, l)
	})
}

// AcquireLeases takes every lease of ls for their process and plan, or none. clash and
// alive are asked while the write lock is held, so they must be quick and must not
// use the Store.
func (s *Store) AcquireLeases(ctx context.Context, ls []engine.Lease, alive func(engine.Lease) bool, clash func(engine.Lease) error) error {
	const op = "acquire leases"
	for _, l := range ls {
		if err := wellFormed(l); err != nil {
			return asFault(op, s.path, err)
		}
	}
	return s.note(ctx, op, func(tx *sql.Tx) error {
		var all []engine.Lease
		err := each(ctx, tx, func(rows *sql.Rows) error {
			l, err := scanLease(rows)
			all = append(all, l)
			return err
		}, `SELECT `+leaseColumns+` FROM leases`)
		if err != nil {
			return err
		}
		mine := map[string]bool{}
		for _, l := range ls {
			mine[l.Key] = true
		}
		for _, held := range all {
			own := len(ls) > 0 && sameHolder(held, ls[0])
			if own && held.Plan == ls[0].Plan {
				continue
			}
			err := clash(held)
			if err == nil && mine[held.Key] {
				err = fault.New(fault.Conflict, "", "%s is held by process %d", held.Key, held.PID)
			}
			switch {
			case err == nil:
			case own || alive == nil || alive(held): // a process can run several plans
				return err
			default:
				if _, err := tx.ExecContext(ctx, `DELETE FROM leases WHERE key = ?`, held.Key); err != nil {
					return fmt.Errorf("delete lease: %w", err)
				}
			}
		}
		for _, l := range ls {
			if err := putLease(ctx, tx, l); err != nil {
				return err
			}
		}
		return nil
	})
}

func wellFormed(l engine.Lease) error {
	if l.Key == "" || l.PID <= 0 || l.Start == "" || l.BootID == "" {
		return fault.New(fault.Invalid, "", "a lease needs a key and a process: %+v", l)
	}
	_, err := toText(l.Since)
	return err
}

// putLease writes a lease over whatever holds its key.
func putLease(ctx context.Context, tx *sql.Tx, l engine.Lease) error {
	since, err := toText(l.Since)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT OR REPLACE INTO leases (`+leaseColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		l.Key, l.Plan, l.PID, l.Start, l.BootID, l.PIDNS, since)
	if err != nil {
		return fmt.Errorf("write lease: %w", err)
	}
	return nil
}

// ReleaseLease gives l.Key back. A lease that nobody holds is released already;
// one that another process holds by now is a conflict, and stays.
func (s *Store) ReleaseLease(ctx context.Context, l engine.Lease) error {
	return s.note(ctx, "release lease", func(tx *sql.Tx) error {
		held, err := scanLease(tx.QueryRowContext(ctx, `SELECT `+leaseColumns+` FROM leases WHERE key = ?`, l.Key))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read lease: %w", err)
		}
		if !sameHolder(held, l) {
			return fault.New(fault.Conflict, "", "%s is held by process %d, not by process %d", l.Key, held.PID, l.PID)
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM leases WHERE key = ?`, l.Key); err != nil {
			return fmt.Errorf("delete lease: %w", err)
		}
		return nil
	})
}

// Leases lists the leases whose key starts with prefix, byte by byte, sorted by
// key. Holders may be dead.
func (s *Store) Leases(ctx context.Context, prefix string) ([]engine.Lease, error) {
	out := []engine.Lease{}
	err := s.view(ctx, "list leases", func(tx *sql.Tx) error {
		return each(ctx, tx, func(rows *sql.Rows) error {
			l, err := scanLease(rows)
			out = append(out, l)
			return err
		}, `SELECT `+leaseColumns+` FROM leases WHERE substr(key, 1, length(?)) = ? ORDER BY key`, prefix, prefix)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func scanLease(row interface{ Scan(...any) error }) (l engine.Lease, err error) {
	var since sql.NullString
	if err := row.Scan(&l.Key, &l.Plan, &l.PID, &l.Start, &l.BootID, &l.PIDNS, &since); err != nil {
		return l, err
	}
	l.Since, err = toTime(since)
	return l, err
}

// sameHolder compares every part of a process's name: a number alone may be
// somebody else's by now (C122).
func sameHolder(a, b engine.Lease) bool {
	return a.PID == b.PID && a.Start == b.Start && a.BootID == b.BootID && a.PIDNS == b.PIDNS
}
