package memory

import (
	"context"
	"time"

	"github.com/plan-engine/plan"
)

// What became of a tool from outside.
const (
	ToolOffered = "offered" // by name, to the phases of a run
	ToolCalled  = "called"
	ToolFailed  = "failed" // when it was called
)

// ToolUse is one thing that became of a tool.
type ToolUse struct {
	Tool  string
	Repo  string
	Run   plan.RunID
	Phase plan.Phase
	Use   string
	Took  time.Duration
}

// mostToolUses is how many uses are remembered: the latest.
const mostToolUses = 100_000

// RecordToolUses remembers what became of tools.
func (db *DB) RecordToolUses(ctx context.Context, uses ...ToolUse) error {
	if len(uses) == 0 {
		return nil
	}
	tx, err := db.write.begin(ctx)
	if err != nil {
		return db.wrapError("remember the use of a tool in", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to take back
	for _, u := range uses {
		_, err := tx.ExecContext(ctx,
			`INSERT INTO tool_uses (tool, repo, run, phase, use, ms, at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			u.Tool, u.Repo, string(u.Run), string(u.Phase), u.Use, u.Took.Milliseconds(), db.now().UnixNano())
		if err != nil {
			return db.wrapError("remember the use of a tool in", err)
		}
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM tool_uses WHERE id <= (SELECT max(id) FROM tool_uses) - ?`, mostToolUses)
	if err != nil {
		return db.wrapError("remember the use of a tool in", err)
	}
	return db.wrapError("remember the use of a tool in", tx.Commit())
}

// ToolStats is what became of one tool over all runs.
type ToolStats struct {
	Tool    string
	Offered int
	Called  int // also where it failed
	Failed  int
	Took    time.Duration // of a call, on average
	Last    time.Time     // zero: it was never called
}

// ToolStats says what became of tools, those of one repository or of all ("").
func (db *DB) ToolStats(ctx context.Context, repo string) ([]ToolStats, error) {
	rows, err := db.read.QueryContext(ctx, `
		SELECT tool, sum(use = 'offered'), sum(use <> 'offered'), sum(use = 'failed'),
		coalesce(avg(CASE WHEN use <> 'offered' THEN ms END), 0),
		coalesce(max(CASE WHEN use <> 'offered' THEN at END), 0)
		FROM tool_uses WHERE ? IN ('', repo) GROUP BY tool ORDER BY tool`, repo)
	if err != nil {
		return nil, db.wrapError("read the use of tools in", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []ToolStats
	for rows.Next() {
		var s ToolStats
		var ms float64
		var last int64
		if err := rows.Scan(&s.Tool, &s.Offered, &s.Called, &s.Failed, &ms, &last); err != nil {
			return nil, db.wrapError("read the use of tools in", err)
		}
		s.Took = time.Duration(ms * float64(time.Millisecond))
		if last > 0 {
			s.Last = time.Unix(0, last).UTC()
		}
		out = append(out, s)
	}
	return out, db.wrapError("read the use of tools in", rows.Err())
}

// ToolNeed is a run that called a tool.
type ToolNeed struct{ Tool, Request string }

// ToolNeeds lists which tools the latest runs called, with what was asked of those runs.
func (db *DB) ToolNeeds(ctx context.Context, repo string, runs int) ([]ToolNeed, error) {
	rows, err := db.read.QueryContext(ctx, `
		SELECT DISTINCT u.tool, r.request FROM tool_uses u JOIN runs r ON r.id = u.run
		WHERE u.use <> 'offered' AND u.repo = ? AND u.run IN
		(SELECT run FROM tool_uses WHERE repo = ? GROUP BY run ORDER BY max(id) DESC LIMIT ?)`, repo, repo, runs)
	if err != nil {
		return nil, db.wrapError("read the use of tools in", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []ToolNeed
	for rows.Next() {
		var n ToolNeed
		if err := rows.Scan(&n.Tool, &n.Request); err != nil {
			return nil, db.wrapError("read the use of tools in", err)
		}
		out = append(out, n)
	}
	return out, db.wrapError("read the use of tools in", rows.Err())
}
