package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// schemaQuery describes what the tables and indexes of a database are made of, a line
// each, in whatever words they were made. What may be made anew at any time is left out.
const schemaQuery = `
	WITH own AS (SELECT * FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'
		AND name NOT LIKE 'facts\_fts%' ESCAPE '\' AND tbl_name NOT LIKE 'facts\_fts%' ESCAPE '\')
	SELECT concat_ws(' ', own.name, c.name, c.type, c."notnull", c.dflt_value, c.pk)
		FROM own, pragma_table_xinfo(own.name) AS c WHERE own.type = 'table'
	UNION ALL SELECT concat_ws(' ', own.name, f.id, f.seq, f."table", f."from", f."to")
		FROM own, pragma_foreign_key_list(own.name) AS f WHERE own.type = 'table'
	UNION ALL SELECT concat_ws(' ', own.name, i.seqno, i.cid, i.name, i."desc", i.coll, i.key)
		FROM own, pragma_index_xinfo(own.name) AS i WHERE own.type = 'index'
	UNION ALL SELECT concat_ws(' ', name, sql) FROM own WHERE type NOT IN ('table', 'index')
	ORDER BY 1`

// schemaOf describes the schema of a database.
func schemaOf(ctx context.Context, from rowsQuerier) ([]string, error) {
	rows, err := from.QueryContext(ctx, schemaQuery)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, err //nolint:wrapcheck // the callers say what was done
		}
		lines = append(lines, line)
	}
	return lines, rows.Err()
}

// knownSchema describes the schema that this program makes.
func knownSchema(ctx context.Context) (lines []string, err error) {
	scripts, err := migrations()
	if err != nil {
		return nil, err
	}
	pool, err := openPool(":memory:", 1) // each connection has a database of its own
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return nil, err //nolint:wrapcheck // the callers say what was done
	}
	if err := errors.Join(migrate(ctx, tx, scripts), tx.Commit()); err != nil {
		return nil, err
	}
	return schemaOf(ctx, pool)
}

// auditSchema says what of the schema is not as this program makes it.
func (db *DB) auditSchema(ctx context.Context) []error {
	known, err := knownSchema(ctx)
	if err != nil {
		return []error{db.wrapError("check", err)}
	}
	statements, err := schemaOf(ctx, db.read)
	if err != nil {
		return []error{db.wrapError("check", err)}
	}
	for _, line := range known {
		if !slices.Contains(statements, line) {
			return []error{&Error{
				Op:   "check",
				Path: db.path,
				Err:  fmt.Errorf("its schema is not what this program makes: %.100q is missing", line),
				Hint: hintDamaged,
			}}
		}
	}
	return nil
}
