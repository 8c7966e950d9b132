//go:build linux

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

// TestAnInterruptSaysNothingOfSQL: whoever pressed Ctrl-C is told that, in words.
func TestAnInterruptSaysNothingOfSQL(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		fmt.Errorf("begin: %w", context.Canceled),
		errors.Join(fmt.Errorf("interrupted (9): %w", context.Canceled), sql.ErrTxDone),
	} {
		got := asFault("update plan", "/x/ambit.db", err)
		if !fault.Is(got, fault.Canceled) || got.Error() != "update plan: context canceled" {
			t.Errorf("%v became %v", err, got)
		}
	}
	// A statement that really was cut off, whatever the driver makes of that.
	s := open(t, filepath.Join(t.TempDir(), "ambit.db"))
	ctx, cancel := context.WithCancel(t.Context())
	err := s.update(ctx, "update plan", func(tx *sql.Tx) error {
		cancel()
		_, err := tx.ExecContext(context.WithoutCancel(ctx), "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 1000) SELECT sum(i) FROM n")
		if err == nil {
			<-ctx.Done()
			_, err = tx.ExecContext(ctx, "SELECT 1")
		}
		return err
	})
	if !fault.Is(err, fault.Canceled) || strings.Contains(err.Error(), "sql") || strings.Contains(err.Error(), "(9)") {
		t.Errorf("cut off: %v", err)
	}
}
