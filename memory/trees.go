package memory

import (
	"context"
	"errors"
)

// Trees lists the work trees of all runs in the database at path, which is only looked at:
// it is not made, and not brought to another version. What a run names that was taken in and
// has not gone on here is no tree that this home worked on.
func Trees(ctx context.Context, path string) (trees []string, err error) {
	// What may not write cannot take away the files beside the database that it made to read it.
	pool, err := openPool(dsn(path, "mode=rw&_query_only=on"), 1)
	if err != nil {
		return nil, wrapError("read the trees", path, err)
	}
	defer func() { err = errors.Join(err, wrapError("close", path, pool.Close())) }()
	rows, err := pool.QueryContext(ctx, "SELECT DISTINCT repo FROM runs WHERE NOT "+onlyImported)
	if err != nil {
		return nil, wrapError("read the trees", path, err)
	}
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		var tree string
		if err := rows.Scan(&tree); err != nil {
			return nil, wrapError("read the trees", path, err)
		}
		trees = append(trees, tree)
	}
	return trees, wrapError("read the trees", path, rows.Err())
}
