package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// part is one of a plan's lists as its table keeps it: a key, the position, the
// columns and the document.
type part struct {
	table, key string
	columns    []string
	rows       []partRow
}

type partRow struct {
	key  string
	cols []any
	leaf any
}

// partsOf separates every list of a plan into rows.
func partsOf(p *engine.Plan) ([]part, error) {
	steps := part{table: "steps", key: "id", columns: []string{"title", "status", "started_at", "ended_at", "runs"}}
	for _, st := range p.Steps {
		started, err := toText(st.StartedAt)
		if err != nil {
			return nil, err
		}
		ended, err := toText(st.EndedAt)
		if err != nil {
			return nil, err
		}
		row := partRow{key: st.ID, cols: []any{st.Title, string(st.Status), started, ended, st.Runs}}
		st.ID, st.Title, st.Status, st.Runs, st.StartedAt, st.EndedAt = "", "", "", 0, time.Time{}, time.Time{}
		row.leaf = st
		steps.rows = append(steps.rows, row)
	}
	boxes := part{table: "sandboxes", key: "id", columns: []string{"strategy", "status", "path", "spelled", "dir"}}
	for _, b := range p.Sandboxes {
		if b.Plan != "" && b.Plan != p.ID {
			return nil, fault.New(fault.Invalid, "", "sandbox %q of plan %q is listed in plan %q", b.ID, b.Plan, p.ID)
		}
		row := partRow{key: b.ID, cols: []any{string(b.Strategy), string(b.Status), b.Resource.Path, b.Resource.Spelled, b.Dir}}
		b.ID, b.Plan, b.Strategy, b.Status, b.Resource.Path, b.Resource.Spelled, b.Dir = "", "", "", "", "", "", ""
		row.leaf = b
		boxes.rows = append(boxes.rows, row)
	}
	checks := part{table: "checkpoints", key: "name", columns: []string{"at", "auto"}}
	for _, c := range p.Checkpoints {
		at, err := toText(c.At)
		if err != nil {
			return nil, err
		}
		row := partRow{key: c.Name, cols: []any{at, c.Auto}}
		c.Name, c.At, c.Auto = "", time.Time{}, false
		row.leaf = c
		checks.rows = append(checks.rows, row)
	}
	applies := part{table: "applies", key: "id", columns: []string{"dest", "at", "status"}}
	for _, a := range p.Applies {
		at, err := toText(a.At)
		if err != nil {
			return nil, err
		}
		row := partRow{key: a.ID, cols: []any{string(a.To), at, a.Status}}
		a.ID, a.To, a.At, a.Status = "", "", time.Time{}, ""
		row.leaf = a
		applies.rows = append(applies.rows, row)
	}
	return []part{steps, boxes, checks, applies}, nil
}

// writeParts makes the rows of a plan's lists what p says. Unchanged rows are
// not rewritten: a plan of a thousand steps costs little when one of them moves.
func writeParts(ctx context.Context, tx *sql.Tx, p *engine.Plan) error {
	parts, err := partsOf(p)
	if err != nil {
		return err
	}
	for _, l := range parts {
		if err := l.write(ctx, tx, p.ID); err != nil {
			return fmt.Errorf("write %s: %w", l.table, err)
		}
	}
	return nil
}

func (l part) write(ctx context.Context, tx *sql.Tx, plan string) error {
	keys := make([]string, 0, len(l.rows))
	seen := map[string]bool{}
	for _, r := range l.rows {
		if r.key == "" || seen[r.key] {
			return fault.New(fault.Invalid, "", "the %s of plan %q have the %s %q twice or empty", l.table, plan, l.key, r.key)
		}
		seen[r.key] = true
		keys = append(keys, escape(r.key))
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	// Keys are escaped in the column, too, as they travel through JSON here.
	if _, err := tx.ExecContext(ctx, `DELETE FROM `+l.table+` WHERE plan = ? AND `+l.key+
		` NOT IN (SELECT value FROM json_each(?))`, plan, string(list)); err != nil {
		return err
	}
	if len(l.rows) == 0 {
		return nil
	}
	cols := append([]string{"ord", "doc"}, l.columns...)
	var names, marks, set, differ string
	for i, c := range cols {
		names, marks = names+", "+c, marks+", ?"
		if i > 0 {
			set, differ = set+", ", differ+" OR "
		}
		set += c + " = excluded." + c
		differ += l.table + "." + c + " IS NOT excluded." + c
	}
	st, err := tx.PrepareContext(ctx, `INSERT INTO `+l.table+` (plan, `+l.key+names+`) VALUES (?, ?`+marks+
		`) ON CONFLICT (plan, `+l.key+`) DO UPDATE SET `+set+` WHERE `+differ)
	if err != nil {
		return err
	}
	defer st.Close() //nolint:errcheck // the transaction's end closes it again
	for i, r := range l.rows {
		doc, err := encodeLeaf(r.leaf)
		if err != nil {
			return err
		}
		if _, err := st.ExecContext(ctx, append([]any{plan, keys[i], i, doc}, r.cols...)...); err != nil {
			return err
		}
	}
	return nil
}

// readParts fills the lists of the plans in byID. list is the JSON array of their ids.
func readParts(ctx context.Context, tx *sql.Tx, list string, byID map[string]*engine.Plan) error {
	from := func(columns, table string) string {
		return `SELECT plan, ` + columns + `, doc FROM ` + table +
			` WHERE plan IN (SELECT value FROM json_each(?)) ORDER BY plan, ord`
	}
	err := each(ctx, tx, func(rows *sql.Rows) error {
		var plan, id, title, status, doc string
		var started, ended sql.NullString
		var runs int
		if err := rows.Scan(&plan, &id, &title, &status, &started, &ended, &runs, &doc); err != nil {
			return err
		}
		var st engine.Step
		err := decodeLeaf(doc, &st)
		if err != nil {
			return err
		}
		st.ID, st.Title, st.Status, st.Runs = unescape(id), title, engine.StepStatus(status), runs
		if st.StartedAt, err = toTime(started); err != nil {
			return err
		}
		if st.EndedAt, err = toTime(ended); err != nil {
			return err
		}
		byID[plan].Steps = append(byID[plan].Steps, st)
		return nil
	}, from("id, title, status, started_at, ended_at, runs", "steps"), list)
	if err != nil {
		return fmt.Errorf("read steps: %w", err)
	}
	err = each(ctx, tx, func(rows *sql.Rows) error {
		var plan, id, strategy, status, path, spelled, dir, doc string
		if err := rows.Scan(&plan, &id, &strategy, &status, &path, &spelled, &dir, &doc); err != nil {
			return err
		}
		var b engine.SandboxRecord
		if err := decodeLeaf(doc, &b); err != nil {
			return err
		}
		b.ID, b.Plan, b.Strategy, b.Status = unescape(id), plan, engine.StrategyName(strategy), engine.SandboxStatus(status)
		b.Resource.Path, b.Resource.Spelled, b.Dir = path, spelled, dir
		byID[plan].Sandboxes = append(byID[plan].Sandboxes, b)
		return nil
	}, from("id, strategy, status, path, spelled, dir", "sandboxes"), list)
	if err != nil {
		return fmt.Errorf("read sandboxes: %w", err)
	}
	err = each(ctx, tx, func(rows *sql.Rows) error {
		var plan, name, doc string
		var at sql.NullString
		var auto bool
		if err := rows.Scan(&plan, &name, &at, &auto, &doc); err != nil {
			return err
		}
		var c engine.Checkpoint
		err := decodeLeaf(doc, &c)
		if err != nil {
			return err
		}
		if c.At, err = toTime(at); err != nil {
			return err
		}
		c.Name, c.Auto = unescape(name), auto
		byID[plan].Checkpoints = append(byID[plan].Checkpoints, c)
		return nil
	}, from("name, at, auto", "checkpoints"), list)
	if err != nil {
		return fmt.Errorf("read checkpoints: %w", err)
	}
	err = each(ctx, tx, func(rows *sql.Rows) error {
		var plan, id, dest, status, doc string
		var at sql.NullString
		if err := rows.Scan(&plan, &id, &dest, &at, &status, &doc); err != nil {
			return err
		}
		var a engine.ApplyRecord
		err := decodeLeaf(doc, &a)
		if err != nil {
			return err
		}
		if a.At, err = toTime(at); err != nil {
			return err
		}
		a.ID, a.To, a.Status = unescape(id), engine.ApplyTo(dest), status
		byID[plan].Applies = append(byID[plan].Applies, a)
		return nil
	}, from("id, dest, at, status", "applies"), list)
	if err != nil {
		return fmt.Errorf("read applies: %w", err)
	}
	return nil
}
