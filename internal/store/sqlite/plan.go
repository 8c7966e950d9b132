package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// CreatePlan inserts p as version 1 and sets p.Version. Exists if the id is taken.
func (s *Store) CreatePlan(ctx context.Context, p *engine.Plan) error {
	const op = "create plan"
	row, err := toRow(p)
	if err != nil {
		return asFault(op, s.path, err)
	}
	err = s.update(ctx, op, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO plans
			(id, version, kind, title, status, created_at, updated_at, dir, cwd, doc)
			VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?)`,
			p.ID, p.Kind, p.Title, string(p.Status), row.created, row.updated, p.Dir, p.Cwd, row.doc)
		if isUnique(err) {
			return fault.New(fault.Exists, "", "the plan %q exists already", p.ID)
		}
		if err != nil {
			return fmt.Errorf("insert plan: %w", err)
		}
		_, err = writeParts(ctx, tx, p, nil)
		return err
	})
	if err == nil {
		p.Version = 1
	}
	return err
}

// UpdatePlan writes p back if the stored version is p.Version, and increments
// both. Conflict if another process was faster: read the plan again and repeat.
// The events go with it, or with it not.
func (s *Store) UpdatePlan(ctx context.Context, p *engine.Plan, events ...engine.Event) error {
	const op = "update plan"
	row, err := toRow(p)
	if err != nil {
		return asFault(op, s.path, err)
	}
	added, err := toEventRows(events)
	if err != nil {
		return asFault(op, s.path, err)
	}
	var now tables
	err = s.update(ctx, op, func(tx *sql.Tx) error {
		var have int64
		err := tx.QueryRowContext(ctx, `SELECT version FROM plans WHERE id = ?`, p.ID).Scan(&have)
		if errors.Is(err, sql.ErrNoRows) {
			return noPlan(p.ID)
		}
		if err != nil {
			return fmt.Errorf("read version: %w", err)
		}
		if have != p.Version {
			return fault.New(fault.Conflict, "", "the plan %q has changed meanwhile (version %d is stored, %d was read)", p.ID, have, p.Version).
				WithHint("repeat the command")
		}
		// The plan's row comes last: every new row of its parts looks it up, past a
		// document that may be megabytes long by then.
		if now, err = writeParts(ctx, tx, p, s.lastWritten(p)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE plans SET version = version + 1, kind = ?, title = ?, status = ?,
			created_at = ?, updated_at = ?, dir = ?, cwd = ?, doc = ? WHERE id = ?`,
			p.Kind, p.Title, string(p.Status), row.created, row.updated, p.Dir, p.Cwd, row.doc, p.ID); err != nil {
			return fmt.Errorf("write plan: %w", err)
		}
		for _, e := range added {
			if err := e.insert(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		p.Version++
		s.wrote(p, now)
	}
	return err
}

// DeletePlan forgets a plan with all that belongs to it, its events too.
// Leases are their holders' and stay.
func (s *Store) DeletePlan(ctx context.Context, id string) error {
	return s.update(ctx, "forget plan", func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, `DELETE FROM plans WHERE id = ?`, id)
		if err != nil {
			return fmt.Errorf("delete plan: %w", err)
		}
		n, err := r.RowsAffected()
		if err == nil && n == 0 {
			return noPlan(id)
		}
		return err
	})
}

// Plan reads one plan whole.
func (s *Store) Plan(ctx context.Context, id string) (*engine.Plan, error) {
	var ps []*engine.Plan
	err := s.view(ctx, "read plan", func(tx *sql.Tx) error {
		var err error
		if ps, err = readPlans(ctx, tx, `WHERE id = ?`, id); err == nil && len(ps) == 0 {
			err = noPlan(id)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return ps[0], nil
}

// FindPlans lists the plans that match, newest first, each of them whole.
func (s *Store) FindPlans(ctx context.Context, q engine.PlanQuery) ([]*engine.Plan, error) {
	const op = "find plans"
	var where []string
	var args []any
	if q.IDPrefix != "" {
		where = append(where, `substr(id, 1, length(?)) = ?`)
		args = append(args, q.IDPrefix, q.IDPrefix)
	}
	if len(q.Status) > 0 {
		where = append(where, `status IN (?`+strings.Repeat(", ?", len(q.Status)-1)+`)`)
		for _, st := range q.Status {
			args = append(args, string(st))
		}
	}
	if q.Covers != "" {
		above, err := selfAndAncestors(q.Covers)
		if err != nil {
			return nil, asFault(op, s.path, err)
		}
		where = append(where, `id IN (SELECT plan FROM sandboxes WHERE path IN (?`+strings.Repeat(", ?", len(above)-1)+`))`)
		args = append(args, above...)
	}
	var clause strings.Builder
	for i, w := range where {
		clause.WriteString([]string{"WHERE ", " AND "}[min(i, 1)] + w)
	}
	clause.WriteString(` ORDER BY created_at DESC, id`)
	if q.Limit > 0 {
		clause.WriteString(` LIMIT ?`)
		args = append(args, q.Limit)
	}
	var ps []*engine.Plan
	err := s.view(ctx, op, func(tx *sql.Tx) (err error) {
		ps, err = readPlans(ctx, tx, clause.String(), args...)
		return err
	})
	return ps, err
}

// selfAndAncestors lists path and every directory above it. A resource covers
// path exactly if its own path is one of them: compared component by component,
// so that /a/b never covers /a/b-evil.
func selfAndAncestors(path string) ([]any, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return nil, fault.New(fault.Invalid, "", "%q is not a canonical absolute path", path)
	}
	out := []any{path}
	for path != "/" {
		path = filepath.Dir(path)
		out = append(out, path)
	}
	return out, nil
}

type planRow struct {
	created, updated sql.NullString
	doc              string
}

// toRow separates a plan's columns from its document.
func toRow(p *engine.Plan) (r planRow, err error) {
	if p.ID == "" {
		return r, fault.New(fault.Invalid, "", "a plan without an id")
	}
	if r.created, err = toText(p.CreatedAt); err != nil {
		return r, err
	}
	if r.updated, err = toText(p.UpdatedAt); err != nil {
		return r, err
	}
	leaf := *p
	leaf.ID, leaf.Version, leaf.Kind, leaf.Title, leaf.Status, leaf.Dir, leaf.Cwd = "", 0, "", "", "", "", ""
	leaf.CreatedAt, leaf.UpdatedAt = time.Time{}, time.Time{}
	leaf.Sandboxes, leaf.Steps, leaf.Checkpoints, leaf.Applies = nil, nil, nil, nil
	r.doc, err = encodeLeaf(leaf)
	return r, err
}

// readPlans reads the plans that a clause selects, with their parts, in its order.
func readPlans(ctx context.Context, tx *sql.Tx, clause string, args ...any) ([]*engine.Plan, error) {
	ps := []*engine.Plan{}
	byID := map[string]*engine.Plan{}
	err := each(ctx, tx, func(rows *sql.Rows) error {
		var leaf engine.Plan
		var id, kind, title, status, dir, cwd, doc string
		var version int64
		var created, updated sql.NullString
		err := rows.Scan(&id, &version, &kind, &title, &status, &created, &updated, &dir, &cwd, &doc)
		if err != nil {
			return err
		}
		if err := decodeLeaf(doc, &leaf); err != nil {
			return fmt.Errorf("plan %s: %w", id, err)
		}
		leaf.ID, leaf.Version, leaf.Kind, leaf.Title, leaf.Status = id, version, kind, title, engine.PlanStatus(status)
		leaf.Dir, leaf.Cwd = dir, cwd
		if leaf.CreatedAt, err = toTime(created); err != nil {
			return err
		}
		if leaf.UpdatedAt, err = toTime(updated); err != nil {
			return err
		}
		leaf.Sandboxes, leaf.Steps = []engine.SandboxRecord{}, []engine.Step{}
		byID[id] = &leaf
		ps = append(ps, &leaf)
		return nil
	}, `SELECT id, version, kind, title, status, created_at, updated_at, dir, cwd, doc FROM plans `+clause, args...)
	if err != nil || len(ps) == 0 {
		return ps, err
	}
	ids := make([]string, 0, len(ps))
	for _, p := range ps {
		ids = append(ids, p.ID)
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	return ps, readParts(ctx, tx, string(list), byID)
}
