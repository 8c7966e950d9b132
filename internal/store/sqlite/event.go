package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// AppendEvent adds e to its plan's record under the next number; e.Seq is not
// looked at. Not found if there is no such plan.
func (s *Store) AppendEvent(ctx context.Context, e engine.Event) error {
	const op = "append event"
	rows, err := toEventRows([]engine.Event{e})
	if err != nil {
		return asFault(op, s.path, err)
	}
	return s.update(ctx, op, func(tx *sql.Tx) error { return rows[0].insert(ctx, tx) })
}

type eventRow struct {
	plan, kind string
	at, data   sql.NullString
}

func toEventRows(events []engine.Event) ([]eventRow, error) {
	var rows []eventRow
	for _, e := range events {
		at, err := toText(e.At)
		if err == nil && len(e.Data) > 0 && !json.Valid(e.Data) {
			err = fault.New(fault.Invalid, "", "the data of a %q event is not JSON", e.Kind)
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, eventRow{e.Plan, e.Kind, at, sql.NullString{String: string(e.Data), Valid: len(e.Data) > 0}})
	}
	return rows, nil
}

func (e eventRow) insert(ctx context.Context, tx *sql.Tx) error {
	r, err := tx.ExecContext(ctx, `INSERT INTO events (plan, seq, at, kind, data)
		SELECT id, (SELECT coalesce(max(seq), 0) + 1 FROM events WHERE plan = plans.id), ?, ?, ?
		FROM plans WHERE id = ?`, e.at, e.kind, e.data, e.plan)
	if err != nil {
		return fmt.Errorf("insert event: %w", err)
	}
	n, err := r.RowsAffected()
	if err == nil && n == 0 {
		return noPlan(e.plan)
	}
	return err
}

// Events lists a plan's events with a number above afterSeq, in order.
func (s *Store) Events(ctx context.Context, plan string, afterSeq int64) ([]engine.Event, error) {
	out := []engine.Event{}
	err := s.view(ctx, "read events", func(tx *sql.Tx) error {
		return each(ctx, tx, func(rows *sql.Rows) error {
			e := engine.Event{Plan: plan}
			var at, data sql.NullString
			err := rows.Scan(&e.Seq, &at, &e.Kind, &data)
			if err != nil {
				return err
			}
			if data.Valid {
				e.Data = json.RawMessage(data.String)
			}
			if e.At, err = toTime(at); err != nil {
				return err
			}
			out = append(out, e)
			return nil
		}, `SELECT seq, at, kind, data FROM events WHERE plan = ? AND seq > ? ORDER BY seq`, plan, afterSeq)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
