package sqlite

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/ambit-run/ambit/fault"
)

const timeLayout = "2006-01-02T15:04:05.000000000Z"

// toText renders a time for its column: UTC, fixed width so that it sorts; the
// zero time is NULL.
func toText(t time.Time) (sql.NullString, error) {
	if t.IsZero() {
		return sql.NullString{}, nil
	}
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return sql.NullString{}, fault.New(fault.Invalid, "", "the year %d cannot be stored", y)
	}
	return sql.NullString{String: t.Format(timeLayout), Valid: true}, nil
}

func toTime(s sql.NullString) (time.Time, error) {
	if !s.Valid {
		return time.Time{}, nil
	}
	t, err := time.Parse(timeLayout, s.String)
	if err != nil {
		return time.Time{}, fmt.Errorf("read time: %w", err)
	}
	return t, nil
}
