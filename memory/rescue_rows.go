package memory

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// provenRow is a row whose sum says which table it is of, and that it is whole.
type provenRow struct {
	summedTable
	values []any // the sum is the last one
}

// proven finds the table of a row by its sum.
func proven(tables []summedTable, row storedRow) (provenRow, bool) {
	last := len(row.values) - 1
	if last < 0 {
		return provenRow{}, false
	}
	sum, ok := row.values[last].([]byte)
	if !ok {
		return provenRow{}, false
	}
	values := slices.Clone(row.values)
	for _, t := range tables {
		if len(t.columns) != last {
			continue
		}
		if row.hasID && len(t.key) == 1 && values[0] == nil { // the key is the id of the row
			values[0] = row.id
		}
		if bytes.Equal(rowSum(t.name, values[:last]...), sum) {
			return provenRow{t, values}, true
		}
	}
	return provenRow{}, false
}

// store stores other rows: what they refer to before them.
func (r *rescue) store(ctx context.Context, rows []provenRow) error {
	batches := map[any]bool{}
	for _, row := range rows {
		if row.name == "batches" {
			batches[row.values[0]] = true
		}
	}
	// Jobs come after batches.
	slices.SortStableFunc(rows, func(a, b provenRow) int { return strings.Compare(b.name, a.name) })
	return r.to.inTx(ctx, func(tx *sql.Tx) error {
		for _, row := range rows {
			if row.name == "batch_jobs" && !batches[row.values[0]] || row.name == "inbox" && !r.readdress(row) {
				continue
			}
			if err := row.store(ctx, tx); err != nil {
				return fmt.Errorf("take a row of %s over: %w", row.name, err)
			}
		}
		return nil
	})
}

// readdress gives a letter the key that its run has now, and reports whether it has one.
func (r *rescue) readdress(letter provenRow) bool {
	old, _ := letter.values[1].(int64)
	key, ok := r.runs[old]
	letter.values[1], letter.values[len(letter.values)-1] = key, nil // with another sum
	return ok
}

func (row provenRow) store(ctx context.Context, tx *sql.Tx) error {
	into := row.name + " (" + strings.Join(row.columns, ", ") + ", sum)"
	query := "INSERT OR IGNORE INTO " + into + " VALUES (" + placeholders(len(row.values)) + ")" //nolint:gosec // ours
	_, err := tx.ExecContext(ctx, query, row.values...)
	return err //nolint:wrapcheck // the caller says what was stored
}
