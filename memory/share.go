package memory

import (
	"context"

	"github.com/plan-engine/plan"
)

// BlobRefs returns the hashes of the blobs that a run needs, sorted.
func (db *DB) BlobRefs(ctx context.Context, run plan.RunID) ([]string, error) {
	rows, err := db.read.QueryContext(ctx, `SELECT hash FROM blob_refs JOIN runs ON run = key
		WHERE runs.id = ? ORDER BY hash`, string(run))
	if err != nil {
		return nil, db.runError("list the blobs of", run, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var hashes []string
	for rows.Next() {
		var hash string
		if err := rows.Scan(&hash); err != nil {
			return nil, db.runError("list the blobs of", run, err)
		}
		hashes = append(hashes, hash)
	}
	if err := rows.Err(); err != nil {
		return nil, db.runError("list the blobs of", run, err)
	}
	return hashes, nil
}
