package memory

import (
	"context"
	"fmt"
	"strings"
)

// selectBatches reads batches, and of each whether it is what was written.
var selectBatches = `SELECT id, digest, name, settings, most, created, updated, ` +
	provenIn("batches", "id", "digest", "name", "settings", "most", "created", "updated") + ` FROM batches`

// Batches lists the batches, newest first. A digest other than "" chooses those
// of the same jobs.
func (db *DB) Batches(ctx context.Context, digest string) ([]Batch, error) {
	const op = "list batches in"
	rows, err := db.read.QueryContext(ctx, selectBatches+" WHERE ? = '' OR digest = ? ORDER BY id DESC", digest, digest)
	if err != nil {
		return nil, db.wrapError(op, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []Batch
	at := map[string]int{}
	for rows.Next() {
		var b Batch
		var created, updated int64
		var settings string
		var whole bool
		err := rows.Scan(&b.ID, &b.Digest, &b.Name, &settings, &b.MaxStarts, &created, &updated, &whole)
		if err != nil {
			return nil, db.wrapError(op, err)
		}
		if b.Settings = []byte(settings); !whole {
			b.Settings, b.Damage = nil, db.rowError("read a batch in", "batches", b.ID)
		}
		b.Created = fromNanos(created)
		b.Updated = fromNanos(updated)
		b.Jobs = map[JobState]int{}
		at[b.ID] = len(out)
		out = append(out, b)
	}
	if err := rows.Err(); err != nil {
		return nil, db.wrapError(op, err)
	}
	return out, db.wrapError(op, db.countJobs(ctx, out, at))
}

// countJobs fills in how the jobs of batches stand, and what they cost so far.
func (db *DB) countJobs(ctx context.Context, out []Batch, at map[string]int) error {
	rows, err := db.read.QueryContext(
		ctx,
		`SELECT j.batch, j.state, count(*), coalesce(sum(r.cost_usd), 0), coalesce(sum(r.input + r.output), 0)
		FROM batch_jobs AS j LEFT JOIN runs AS r ON r.id = j.run GROUP BY j.batch, j.state`,
	)
	if err != nil {
		return err //nolint:wrapcheck // Batches says what was done
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	for rows.Next() {
		var id string
		var state JobState
		var n int
		var cost float64
		var tokens int64
		if err := rows.Scan(&id, &state, &n, &cost, &tokens); err != nil {
			return err //nolint:wrapcheck // Batches says what was done
		}
		if i, ok := at[id]; ok {
			out[i].Jobs[state] += n
			out[i].CostUSD += cost
			out[i].Tokens += tokens
		}
	}
	return rows.Err()
}

// Batch finds a batch by a prefix of its id, in upper or lower case; "" is the
// newest. Errors: [ErrNoBatch], or that several fit.
func (db *DB) Batch(ctx context.Context, prefix string) (Batch, error) {
	batches, err := db.Batches(ctx, "")
	if err != nil {
		return Batch{}, err
	}
	var fit []Batch
	for _, b := range batches {
		switch {
		case prefix == "" || strings.EqualFold(b.ID, prefix):
			return b, nil
		case len(b.ID) >= len(prefix) && strings.EqualFold(b.ID[:len(prefix)], prefix):
			fit = append(fit, b)
		}
	}
	switch len(fit) {
	case 0:
		return Batch{}, fmt.Errorf("find batch %q: %w", prefix, ErrNoBatch)
	case 1:
		return fit[0], nil
	}
	return Batch{}, fmt.Errorf(
		"%q fits %d batches, give more letters: %s, %s, …",
		prefix,
		len(fit),
		fit[0].ID,
		fit[1].ID,
	)
}

// Jobs lists the jobs of a batch in the order of the list that they came from.
func (db *DB) Jobs(ctx context.Context, batch string) ([]Job, error) {
	const op = "list jobs in"
	rows, err := db.read.QueryContext(
		ctx,
		selectJobs+" WHERE batch = ? ORDER BY place",
		batch,
	)
	if err != nil {
		return nil, db.wrapError(op, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []Job
	for rows.Next() {
		j, err := db.scanJob(rows.Scan)
		if err != nil {
			return nil, db.wrapError(op, err)
		}
		out = append(out, j)
	}
	return out, db.wrapError(op, rows.Err())
}

// JobState is the state of one job, as the last process wrote it.
func (db *DB) JobState(ctx context.Context, batch, id string) (JobState, error) {
	var state JobState
	err := db.read.QueryRowContext(
		ctx,
		"SELECT state FROM batch_jobs WHERE batch = ? AND id = ?",
		batch,
		id,
	).Scan(&state)
	return state, db.wrapError("read the state of a job in", err)
}
