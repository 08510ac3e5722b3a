package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/plan-engine/plan"
)

// KeepBaseline remembers a check's result under a key, over runs. The output
// that its blob holds is the business of the run that the result is from.
func (db *DB) KeepBaseline(ctx context.Context, key string, res plan.CheckResult) error {
	data, err := json.Marshal(res)
	if err != nil {
		return db.wrapError("keep a baseline in", err)
	}
	_, err = db.write.exec(ctx, `INSERT OR REPLACE INTO baselines (key, result, created) VALUES (?, ?, ?)`,
		key, string(data), db.now().UnixNano())
	return db.wrapError("keep a baseline in", err)
}

// Baseline returns what was kept under a key, and whether anything was. What is not
// what was kept is found out anew, as if it were not there.
func (db *DB) Baseline(ctx context.Context, key string) (plan.CheckResult, bool, error) {
	var res plan.CheckResult
	var data string
	err := db.read.QueryRowContext(ctx, `SELECT result FROM baselines WHERE key = ?
		AND sum IS NOT NULL AND sum = row_sum('baselines', key, result, created)`, key).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return res, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(data), &res)
	}
	return res, err == nil, db.wrapError("read a baseline in", err)
}
