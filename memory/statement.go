package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// statements are those that run often, prepared once.
type statements struct {
	insertRun, updateRun, insertEvent, insertBlob, insertRef, takeLetter *sql.Stmt // on the writing connection

	standing, letters *sql.Stmt
}

func (s *statements) prepare(ctx context.Context, write, read *sql.DB) error {
	return errors.Join(s.prepareWriting(ctx, write), s.prepareReading(ctx, read))
}

func (s *statements) prepareReading(ctx context.Context, read *sql.DB) error {
	return prepareAll(ctx, read, map[**sql.Stmt]string{
		&s.standing: `SELECT key, head, chain, outcome <> '' FROM runs WHERE id = ?`,
		&s.letters: `SELECT inbox.id, kind, data, inbox.created, ` + letterWhole + ` FROM inbox JOIN runs ON run = key
			WHERE runs.id = ? AND taken_seq IS NULL ORDER BY inbox.id`,
	})
}

func (s *statements) prepareWriting(ctx context.Context, write *sql.DB) error {
	return prepareAll(ctx, write, map[**sql.Stmt]string{
		// A run that exists already was started by another writer.
		&s.insertRun: `INSERT INTO runs (head, chain, state, parked, wake_at, outcome, updated,
			requests, input, cached, output, reasoning, cost_usd, priced, id, token, created, repo, job, title, request)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`,
		// The condition is the fence: no row fits once another writer has
		// raised the token.
		&s.updateRun: `UPDATE runs SET head=?, chain=?, state=?, parked=?, wake_at=?, outcome=?, updated=?,
			requests=?, input=?, cached=?, output=?, reasoning=?, cost_usd=?, priced=?
			WHERE key=? AND token=? AND head=?`,
		&s.insertEvent: `INSERT INTO events (run, seq, type, conv, line, packed, sha) VALUES (?,?,?,?,?,?,?)`,
		&s.insertBlob:  `INSERT INTO blobs (hash, size, data, packed) VALUES (?,?,?,?) ON CONFLICT (hash) DO NOTHING`,
		&s.insertRef:   `INSERT INTO blob_refs (run, hash) VALUES (?,?) ON CONFLICT DO NOTHING`,
		&s.takeLetter:  `UPDATE inbox SET taken_seq=? WHERE id=? AND run=? AND taken_seq IS NULL`,
	})
}

func prepareAll(ctx context.Context, db *sql.DB, queries map[**sql.Stmt]string) error {
	for stmt, query := range queries {
		prepared, err := db.PrepareContext(ctx, query) //nolint:sqlclosecheck // closing the database closes it
		if err != nil {
			return fmt.Errorf("prepare %.20q: %w", query, err)
		}
		*stmt = prepared
	}
	return nil
}
