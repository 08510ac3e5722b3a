package memory

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// FillFacts adds many facts in one transaction, for benchmarks.
func FillFacts(ctx context.Context, db *DB, n int, text func() string) error {
	return db.inTx(ctx, func(tx *sql.Tx) error {
		stmt, err := tx.PrepareContext(ctx, `INSERT INTO facts (repo, hash, source, run, seq, created, used, expires, text) VALUES ('/r',?,'person','',0,?,0,0,?)`)
		if err != nil {
			return err
		}
		defer stmt.Close()
		for i := range n {
			if _, err := stmt.ExecContext(ctx, fmt.Appendf(nil, "%d", i), i, text()); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `UPDATE fact_index SET version = version + 1 WHERE name = 'facts'`)
		return err
	})
}

// PlainSearch is what one would write first: all words with OR, ranked by
// SQLite.
func PlainSearch(ctx context.Context, db *DB, words []string) error {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	m, err := moduleOf(ctx, db.read)
	if err != nil {
		return err
	}
	rows, err := db.read.QueryContext(ctx, `SELECT rowid FROM `+m.table()+` WHERE `+m.table()+` MATCH ? ORDER BY bm25(`+m.table()+`) LIMIT 20`, strings.Join(quoted, " OR "))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
	}
	return rows.Err()
}
