package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/plan-engine/plan"
)

// fullText is a full-text module of SQLite. Both keep the same words, without
// their endings; FTS5 is smaller and faster, FTS4 is there in a program that was
// built without the tag sqlite_fts5.
type fullText struct {
	name   string // also of the row in fact_index
	create string
}

// table is the name of the index; the two modules never share one.
func (m fullText) table() string { return "facts_" + m.name }

func moduleOf(ctx context.Context, tx querier) (fullText, error) {
	var has bool
	if err := tx.QueryRowContext(ctx, `SELECT sqlite_compileoption_used('ENABLE_FTS5')`).Scan(&has); err != nil {
		return fullText{}, fmt.Errorf("ask SQLite for its modules: %w", err)
	}
	if has {
		return fullText{
			"fts5",
			`fts5(text, content='', contentless_delete=1, detail=none, ` +
				`tokenize='porter unicode61 remove_diacritics 2')`,
		}, nil
	}
	return fullText{"fts4", `fts4(text, tokenize=porter)`}, nil
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// isCurrent reports whether an index holds what the facts are.
func (m fullText) isCurrent(ctx context.Context, tx querier) (bool, error) {
	var same bool
	err := tx.QueryRowContext(
		ctx,
		`SELECT i.version = f.version FROM fact_index i, fact_index f WHERE i.name = ? AND f.name = 'facts'`,
		m.name,
	).Scan(
		&same,
	)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return same, err //nolint:wrapcheck // the callers say what was read
}

// ensureIndex makes the index anew if it does not hold what the facts are, because
// it is missing or the other module has been at work.
func (m fullText) ensureIndex(ctx context.Context, tx *sql.Tx) error {
	ok, err := m.isCurrent(ctx, tx)
	if ok || err != nil {
		return err
	}
	for _, q := range []string{
		`DROP TABLE IF EXISTS ` + m.table(),
		`CREATE VIRTUAL TABLE ` + m.table() + ` USING ` + m.create,
		`INSERT INTO ` + m.table() + ` (rowid, text) SELECT id, text FROM facts`,
		`INSERT INTO fact_index SELECT '` + m.name + `', version FROM fact_index WHERE name = 'facts'
			ON CONFLICT (name) DO UPDATE SET version = excluded.version`,
	} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("make the full-text index: %w", err)
		}
	}
	return nil
}

// recordChange notes one change of the facts, for them and for this index.
func (m fullText) recordChange(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `UPDATE fact_index SET version = version + 1 WHERE name IN ('facts', ?)`, m.name)
	return err //nolint:wrapcheck // the callers say what was changed
}

// indexFact takes a fact into the index in the transaction that adds it. The
// index is brought up to date before the fact is counted as a change.
func indexFact(ctx context.Context, tx *sql.Tx, id int64, text string) error {
	m, err := moduleOf(ctx, tx)
	if err != nil {
		return err
	}
	ok, err := m.isCurrent(ctx, tx)
	if err != nil {
		return err
	}
	if !ok { // the fact is in the table already, and so comes into the new index
		return m.ensureIndex(ctx, tx)
	}
	query := `INSERT INTO ` + m.table() + ` (rowid, text) VALUES (?, ?)` //nolint:gosec // the name of the table is ours
	if _, err := tx.ExecContext(ctx, query, id, text); err != nil {
		return fmt.Errorf("index the fact: %w", err)
	}
	return m.recordChange(ctx, tx)
}

// unindexFact takes a fact out of the index in the transaction that removes it.
func unindexFact(ctx context.Context, tx *sql.Tx, f plan.Fact) error {
	m, err := moduleOf(ctx, tx)
	if err != nil {
		return err
	}
	ok, err := m.isCurrent(ctx, tx)
	if err != nil || !ok {
		return err // an index that is not current is made anew before it is used
	}
	query := `DELETE FROM ` + m.table() + ` WHERE rowid = ?` //nolint:gosec // the name of the table is ours
	if _, err := tx.ExecContext(ctx, query, f.ID); err != nil {
		return fmt.Errorf("take the fact out of the index: %w", err)
	}
	return m.recordChange(ctx, tx)
}
