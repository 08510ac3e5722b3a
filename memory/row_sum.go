package memory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// rowSum is over a row of a table, by which damage to it is seen. In SQL it is row_sum.
func rowSum(table string, values ...any) []byte {
	hash := sha256.New()
	part := func(kind byte, data []byte) {
		var head [9]byte
		head[0] = kind
		binary.BigEndian.PutUint64(head[1:], uint64(len(data)))
		hash.Write(head[:])
		hash.Write(data)
	}
	part('t', []byte(table))
	for _, v := range values {
		switch v := v.(type) {
		case int64:
			part('i', binary.BigEndian.AppendUint64(nil, uint64(v)))
		case float64:
			part('f', binary.BigEndian.AppendUint64(nil, math.Float64bits(v)))
		case string:
			part('t', []byte(v))
		case []byte:
			part('b', v)
		default:
			part('n', nil)
		}
	}
	return hash.Sum(nil)[:16]
}

// summedTable is a table whose rows have sums: journals and contents are proven by their
// hashes, and the rows of runs by their journals.
type summedTable struct {
	name         string
	columns, key []string
}

// summedTables lists them as the schema has them.
func summedTables(ctx context.Context, from rowsQuerier) ([]summedTable, error) {
	rows, err := from.QueryContext(ctx, `SELECT t.name, c.name, c.pk > 0
		FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.sql LIKE '%sum BLOB%' AND c.name <> 'sum' ORDER BY t.name, c.cid`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []summedTable
	for rows.Next() {
		var table, column string
		var inKey bool
		if err := rows.Scan(&table, &column, &inKey); err != nil {
			return nil, err //nolint:wrapcheck // the callers say what was done
		}
		if len(out) == 0 || out[len(out)-1].name != table {
			out = append(out, summedTable{name: table})
		}
		t := &out[len(out)-1]
		if t.columns = append(t.columns, column); inKey {
			t.key = append(t.key, column)
		}
	}
	return out, rows.Err()
}

// sum is the expression for the sum of a row; its columns are those of row: "", "OLD." or "NEW.".
func (t summedTable) sum(row string) string {
	return "row_sum('" + t.name + "', " + row + strings.Join(t.columns, ", "+row) + ")"
}

// broken is the condition of rows that are not what was written.
func (t summedTable) broken() string { return "sum <> " + t.sum("") }

// keepSums has the database keep the sums, whichever statement writes. The sum of a row that was
// damaged stays wrong when some of it is written anew.
func keepSums(ctx context.Context, tx *sql.Tx) error {
	tables, err := summedTables(ctx, tx)
	if err != nil {
		return fmt.Errorf("list the tables with sums: %w", err)
	}
	for _, t := range tables {
		var same []string
		for _, column := range t.key {
			same = append(same, column+" = NEW."+column)
		}
		set := "BEGIN UPDATE " + t.name + " SET sum = %s WHERE " + strings.Join(same, " AND ") + "; END"
		for _, query := range []string{
			"DROP TRIGGER IF EXISTS " + t.name + "_sum_new",
			"DROP TRIGGER IF EXISTS " + t.name + "_sum",
			"CREATE TRIGGER " + t.name + "_sum_new AFTER INSERT ON " + t.name + " WHEN NEW.sum IS NULL " +
				fmt.Sprintf(set, t.sum("NEW.")),
			"CREATE TRIGGER " + t.name + "_sum AFTER UPDATE OF " + strings.Join(t.columns, ", ") +
				" ON " + t.name + " " +
				fmt.Sprintf(set, "iif(OLD.sum <> "+t.sum("OLD.")+", OLD.sum, "+t.sum("NEW.")+")"),
		} {
			if _, err := tx.ExecContext(ctx, query); err != nil {
				return fmt.Errorf("keep the sums of %s: %w", t.name, err)
			}
		}
	}
	return nil
}

// provenIn is the condition of rows of a table that are what was written; the columns are
// all but the sum, in the order of the schema. Rows of an earlier program have no sum.
func provenIn(table string, columns ...string) string {
	return fmt.Sprintf("(%[1]s.sum IS NULL OR %[1]s.sum = row_sum('%[1]s', %[1]s.%[2]s))",
		table, strings.Join(columns, ", "+table+"."))
}

// RowError says that a row is not what was written.
type RowError struct{ Table, Key string }

// Error says it in one sentence.
func (e *RowError) Error() string {
	return fmt.Sprintf("the row %.100q of the table %s is not what was written", e.Key, e.Table)
}

// rowError is what a reader of a damaged row gets.
func (db *DB) rowError(op, table string, key any) error {
	return &Error{
		Op:   op,
		Path: db.path,
		Err:  &RowError{Table: table, Key: fmt.Sprint(key)},
		Hint: hintDamaged,
	}
}

// auditSums lists what is wrong with rows that have sums.
func (db *DB) auditSums(ctx context.Context) []error {
	tables, err := summedTables(ctx, db.read)
	if err != nil {
		return []error{db.wrapError("check", err)}
	}
	var faults []error
	for _, t := range tables {
		broken, err := brokenRows(ctx, db.read, t)
		for _, why := range broken {
			faults = append(faults, &Error{
				Op:   "check",
				Path: db.path,
				Err:  why,
				Hint: hintDamaged,
			})
		}
		if err != nil {
			faults = append(faults, db.wrapError("check", err))
		}
	}
	return faults
}

// brokenRows says of each row of a table that is not what was written which it is.
func brokenRows(ctx context.Context, from rowsQuerier, t summedTable) ([]error, error) {
	query := "SELECT concat_ws(' ', " + strings.Join(t.key, ", ") + ") FROM " + t.name + " WHERE " + t.broken()
	rows, err := from.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []error
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return out, err //nolint:wrapcheck // the callers say what was done
		}
		out = append(out, &RowError{Table: t.name, Key: key})
	}
	return out, rows.Err()
}

// sumOldRows gives sums to rows that an earlier program has written, in small steps.
func (db *DB) sumOldRows(ctx context.Context) error {
	tables, err := summedTables(ctx, db.read)
	if err != nil {
		return err
	}
	for _, t := range tables {
		key := "(" + strings.Join(t.key, ", ") + ")"
		query := "UPDATE " + t.name + " SET sum = " + t.sum("") + " WHERE " + key + " IN (SELECT " +
			strings.Trim(key, "()") + " FROM " + t.name + " WHERE sum IS NULL LIMIT ?)"
		for n := int64(1); n > 0; {
			res, err := db.write.exec(ctx, query, repackRows)
			if err == nil {
				n, err = res.RowsAffected()
			}
			if err != nil {
				return fmt.Errorf("give sums to %s: %w", t.name, err)
			}
		}
	}
	return nil
}
