package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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

// written is what a process last wrote of a plan: as long as the plan still has
// that version, nobody else has written to it since.
type written struct {
	plan    string
	created time.Time // an id could be drawn twice
	version int64
	tables  tables
}

// tables holds the values of every row of a plan's lists, by table and key.
type tables map[string]map[string][]any

// lastWritten returns what the stored plan holds if it has p's version, or nil
// where this process does not know.
func (s *Store) lastWritten(p *engine.Plan) tables {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.plan != p.ID || !s.last.created.Equal(p.CreatedAt) || s.last.version != p.Version {
		return nil
	}
	return s.last.tables
}

// wrote keeps what p holds in the store now.
func (s *Store) wrote(p *engine.Plan, now tables) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = written{p.ID, p.CreatedAt, p.Version, now}
}

// writeParts makes the rows of a plan's lists what p says, and returns them. was
// is what is known to be stored, or nil. Unchanged rows are not rewritten: a plan
// of many thousand steps costs little when one of them moves.
func writeParts(ctx context.Context, tx *sql.Tx, p *engine.Plan, was tables) (tables, error) {
	parts, err := partsOf(p)
	if err != nil {
		return nil, err
	}
	now := tables{}
	for _, l := range parts {
		if now[l.table], err = l.values(p.ID); err != nil {
			return nil, fmt.Errorf("write %s: %w", l.table, err)
		}
		if err := l.write(ctx, tx, p.ID, was[l.table], now[l.table]); err != nil {
			return nil, fmt.Errorf("write %s: %w", l.table, err)
		}
	}
	return now, nil
}

// values encodes the rows, by their escaped keys.
func (l part) values(plan string) (map[string][]any, error) {
	out := make(map[string][]any, len(l.rows))
	for i, r := range l.rows {
		key := escape(r.key)
		if r.key == "" || out[key] != nil {
			return nil, fault.New(fault.Invalid, "", "the %s of plan %q have the %s %q twice or empty", l.table, plan, l.key, r.key)
		}
		doc, err := encodeLeaf(r.leaf)
		if err != nil {
			return nil, err
		}
		out[key] = append([]any{i, doc}, r.cols...)
	}
	return out, nil
}

func (l part) write(ctx context.Context, tx *sql.Tx, plan string, was, now map[string][]any) error {
	gone := was == nil
	for key := range was {
		gone = gone || now[key] == nil
	}
	if gone {
		if err := l.prune(ctx, tx, plan, now); err != nil {
			return err
		}
	}
	var st *sql.Stmt
	for _, r := range l.rows {
		key := escape(r.key)
		if slices.Equal(was[key], now[key]) {
			continue
		}
		if st == nil {
			var err error
			if st, err = l.upsert(ctx, tx); err != nil {
				return err
			}
			defer st.Close() //nolint:errcheck,gocritic // the transaction's end closes it again; there is one
		}
		if _, err := st.ExecContext(ctx, append([]any{plan, key}, now[key]...)...); err != nil {
			return err
		}
	}
	return nil
}

// prune deletes the rows that the plan has no longer.
func (l part) prune(ctx context.Context, tx *sql.Tx, plan string, now map[string][]any) error {
	list, err := json.Marshal(slices.Collect(maps.Keys(now)))
	if err != nil {
		return err
	}
	if len(now) == 0 {
		list = []byte("[]")
	}
	// Keys are escaped in the column, too, as they travel through JSON here.
	_, err = tx.ExecContext(ctx, `DELETE FROM `+l.table+` WHERE plan = ? AND `+l.key+
		` NOT IN (SELECT value FROM json_each(?))`, plan, string(list))
	return err
}

// upsert prepares the statement that writes a row where it differs.
func (l part) upsert(ctx context.Context, tx *sql.Tx) (*sql.Stmt, error) {
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
	return tx.PrepareContext(ctx, `INSERT INTO `+l.table+` (plan, `+l.key+names+`) VALUES (?, ?`+marks+
		`) ON CONFLICT (plan, `+l.key+`) DO UPDATE SET `+set+` WHERE `+differ)
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
