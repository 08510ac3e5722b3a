package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// TextIndex searches texts by words. It is kept in memory, and in no file.
type TextIndex struct {
	db      *sql.DB
	lengths []int // words of each text
}

// nameWeight is how much more a word of a text's name says than one of the text.
const nameWeight = 3

// NewTextIndex makes an index of texts, each with a name that says more than the rest.
// Close it after use.
func NewTextIndex(ctx context.Context, names, texts []string) (*TextIndex, error) {
	db, err := sql.Open(driver, ":memory:")
	if err != nil {
		return nil, fmt.Errorf("make an index of texts: %w", err)
	}
	db.SetMaxOpenConns(1) // each connection would have a database of its own
	x := &TextIndex{db: db, lengths: make([]int, len(texts))}
	if err := x.fill(ctx, names, texts); err != nil {
		return nil, fmt.Errorf("make an index of texts: %w", errors.Join(err, db.Close()))
	}
	return x, nil
}

func (x *TextIndex) fill(ctx context.Context, names, texts []string) error {
	m, err := moduleOf(ctx, x.db)
	if err != nil {
		return err
	}
	with := `fts5(name, text, tokenize='porter unicode61 remove_diacritics 2')`
	if m.name == "fts4" {
		with = `fts4(name, text, tokenize=porter)`
	}
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what was made
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to take back
	if _, err := tx.ExecContext(ctx, `CREATE VIRTUAL TABLE texts USING `+with); err != nil {
		return err //nolint:wrapcheck // the caller says what was made
	}
	for i, text := range texts {
		x.lengths[i] = len(strings.Fields(text)) + len(strings.Fields(names[i]))
		_, err := tx.ExecContext(ctx, `INSERT INTO texts (rowid, name, text) VALUES (?, ?, ?)`, i+1, names[i], text)
		if err != nil {
			return err //nolint:wrapcheck // the caller says what was made
		}
	}
	return tx.Commit() //nolint:wrapcheck // the caller says what was made
}

// Search lists the numbers of the texts that hold some of the words, from 0, the best first.
func (x *TextIndex) Search(ctx context.Context, query string, most int) ([]int, error) {
	score := make([]float64, len(x.lengths))
	for _, w := range cleanWords(strings.Fields(query)) {
		rows, err := x.holding(ctx, quote(w))
		if err != nil {
			return nil, err
		}
		named, err := x.holding(ctx, "name:"+quote(w))
		if err != nil {
			return nil, err
		}
		weight := idf(len(x.lengths), len(rows))
		for _, id := range rows {
			score[id] += weight
		}
		for _, id := range named {
			score[id] += (nameWeight - 1) * weight
		}
	}
	var out []int
	for id := range score {
		if score[id] > 0 {
			score[id] = bm25(score[id], x.lengths[id])
			out = append(out, id)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	return out[:min(len(out), most)], nil
}

// holding lists the texts that match.
func (x *TextIndex) holding(ctx context.Context, match string) ([]int, error) {
	rows, err := x.db.QueryContext(ctx, `SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid`, match)
	if err != nil {
		return nil, fmt.Errorf("search texts: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []int
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("search texts: %w", err)
		}
		out = append(out, id-1)
	}
	return out, rows.Err()
}

// Close forgets the index.
func (x *TextIndex) Close() error {
	if err := x.db.Close(); err != nil {
		return fmt.Errorf("close an index of texts: %w", err)
	}
	return nil
}
