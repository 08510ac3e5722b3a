package memory

import (
	"context"
	"database/sql"
	"fmt"
)

// statements are those that run often, prepared once.
type statements struct {
	insertRun, updateRun, insertEvent, insertBlob, insertRef, takeLetter *sql.Stmt // on the writing connection

	standing *sql.Stmt
}

func (s *statements) prepare(ctx context.Context, write, read *sql.DB) error {
	for _, p := range []struct {
		stmt  **sql.Stmt
		db    *sql.DB
		query string
	}{
		// A run that exists already was started by somebody else.
		{&s.insertRun, write, `INSERT INTO runs (head, chain, state, parked, wake_at, outcome, updated,
			requests, input, cached, output, reasoning, cost_usd, priced, id, token, created, repo, job, request)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`},
		// The condition is the fence: no row fits once another writer has
		// raised the token.
		{&s.updateRun, write, `UPDATE runs SET head=?, chain=?, state=?, parked=?, wake_at=?, outcome=?, updated=?,
			requests=?, input=?, cached=?, output=?, reasoning=?, cost_usd=?, priced=?
			WHERE key=? AND token=? AND head=?`},
		{&s.insertEvent, write, `INSERT INTO events (run, seq, type, conv, line, sha) VALUES (?,?,?,?,?,?)`},
		{&s.insertBlob, write, `INSERT INTO blobs (hash, size, data) VALUES (?,?,?) ON CONFLICT (hash) DO NOTHING`},
		{&s.insertRef, write, `INSERT INTO blob_refs (run, hash) VALUES (?,?) ON CONFLICT DO NOTHING`},
		{&s.takeLetter, write, `UPDATE inbox SET taken_seq=? WHERE id=? AND run=? AND taken_seq IS NULL`},
		{&s.standing, read, `SELECT key, head, chain, outcome <> '' FROM runs WHERE id = ?`},
	} {
		stmt, err := p.db.PrepareContext(ctx, p.query) //nolint:sqlclosecheck // closing the database closes it
		if err != nil {
			return fmt.Errorf("prepare %.20q: %w", p.query, err)
		}
		*p.stmt = stmt
	}
	return nil
}
