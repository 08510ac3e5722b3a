package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
)

// selectSkill reads records that are what was written.
var selectSkill = `SELECT skill, phase, version, alpha, beta, prior, pulls, updated_at FROM skill_stats WHERE ` +
	provenIn("skill_stats", "skill", "phase", "version", "alpha", "beta", "prior", "pulls", "updated_at")

// SkillRecords returns the records of these skills in a phase, by name.
func (db *DB) SkillRecords(ctx context.Context, p plan.Phase, names []string) (map[string]plan.SkillRecord, error) {
	list, err := json.Marshal(names)
	if err != nil {
		return nil, fmt.Errorf("read skill records: %w", err)
	}
	records, err := db.skillRecords(
		ctx,
		selectSkill+` AND phase = ? AND skill IN (SELECT value FROM json_each(?))`,
		string(p),
		string(list),
	)
	out := map[string]plan.SkillRecord{}
	for _, r := range records {
		out[r.Skill] = r
	}
	return out, err
}

// AllSkillRecords returns every record, sorted by skill and phase.
func (db *DB) AllSkillRecords(ctx context.Context) ([]plan.SkillRecord, error) {
	return db.skillRecords(ctx, selectSkill+` ORDER BY skill, phase`)
}

func (db *DB) skillRecords(ctx context.Context, query string, args ...any) ([]plan.SkillRecord, error) {
	rows, err := db.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, db.wrapError("read skill records of", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []plan.SkillRecord
	for rows.Next() {
		r, err := scanSkill(rows)
		if err != nil {
			return nil, db.wrapError("read skill records of", err)
		}
		out = append(out, r)
	}
	return out, db.wrapError("read skill records of", rows.Err())
}

func scanSkill(row scanner) (plan.SkillRecord, error) {
	var r plan.SkillRecord
	var updated int64
	err := row.Scan(&r.Skill, &r.Phase, &r.Version, &r.Alpha, &r.Beta, &r.Prior, &r.Pulls, &updated)
	r.Updated = fromNanos(updated)
	return r, err
}

// RecordSkill changes the record of a skill in a phase, once for each run. The
// change sees the record as it stands, or an empty one, and is written in the
// same transaction, so that no other process comes between. The second time for
// the same run it reports false.
func (db *DB) RecordSkill(
	ctx context.Context,
	run plan.RunID,
	p plan.Phase,
	skill string,
	change func(plan.SkillRecord) plan.SkillRecord,
) (bool, error) {
	applied := false
	err := db.inTx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(
			ctx,
			`INSERT INTO skill_outcomes (run, skill, phase) VALUES (?,?,?) ON CONFLICT DO NOTHING`,
			string(run),
			skill,
			string(p),
		)
		if err != nil {
			return err //nolint:wrapcheck // RecordSkill says what was done
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err //nolint:wrapcheck // RecordSkill says what was done
		}
		rec, err := scanSkill(tx.QueryRowContext(ctx, selectSkill+` AND skill = ? AND phase = ?`, skill, string(p)))
		if errors.Is(err, sql.ErrNoRows) {
			rec, err = plan.SkillRecord{Skill: skill, Phase: p}, nil
		}
		if err != nil {
			return err
		}
		rec = change(rec)
		_, err = tx.ExecContext(
			ctx,
			`INSERT INTO skill_stats (skill, phase, version, alpha, beta, prior, pulls, updated_at)
			VALUES (?,?,?,?,?,?,?,?)
			ON CONFLICT (skill, phase) DO UPDATE SET version=excluded.version, alpha=excluded.alpha, beta=excluded.beta,
			prior=excluded.prior, pulls=excluded.pulls, updated_at=excluded.updated_at`,
			skill,
			string(p),
			rec.Version,
			rec.Alpha,
			rec.Beta,
			rec.Prior,
			rec.Pulls,
			rec.Updated.UnixNano(),
		)
		applied = err == nil
		return err //nolint:wrapcheck // RecordSkill says what was done
	})
	return applied && err == nil, db.wrapError("record a skill's outcome in", err)
}

// maxStreaks bounds how many kinds of task are counted: the oldest are
// forgotten first.
const maxStreaks = 10_000

// Streak notes that a run of this signature succeeded or failed. It returns the
// runs of the streak, oldest first, once it is as long as threshold, and begins
// a new one. A run that was noted before changes nothing and is given the same
// answer: the process that got the first one may have died with it.
func (db *DB) Streak(
	ctx context.Context,
	signature string,
	run plan.RunID,
	success bool,
	threshold int,
) ([]plan.RunID, error) {
	var full []plan.RunID
	err := db.inTx(ctx, func(tx *sql.Tx) error {
		var known bool
		var err error
		if full, known, err = parseRuns(ctx, tx, `SELECT made FROM streak_runs WHERE run = ?`, string(run)); known ||
			err != nil {
			return err
		}
		runs, _, err := parseRuns(ctx, tx, `SELECT runs FROM streaks WHERE signature = ?`, signature)
		if err != nil {
			return err
		}
		if runs = append(runs, run); !success {
			runs = nil
		} else if len(runs) >= threshold {
			full, runs = runs, nil
		}
		data, err := json.Marshal(full)
		if err != nil {
			return fmt.Errorf("write the streak: %w", err)
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO streak_runs (run, made) VALUES (?,?)`, string(run), string(data))
		if err != nil {
			return err //nolint:wrapcheck // Streak says what was done
		}
		return saveStreak(ctx, tx, signature, runs, db.now().UnixNano())
	})
	return full, db.wrapError("count a streak in", err)
}

// parseRuns reads a JSON array of runs, and whether there is one.
func parseRuns(ctx context.Context, tx *sql.Tx, query, key string) ([]plan.RunID, bool, error) {
	var text string
	err := tx.QueryRowContext(ctx, query, key).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	var runs []plan.RunID
	if err == nil {
		err = json.Unmarshal([]byte(text), &runs)
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the streak of %s: %w", key, err)
	}
	return slices.Clip(runs), true, nil
}

func saveStreak(ctx context.Context, tx *sql.Tx, signature string, runs []plan.RunID, now int64) error {
	if len(runs) == 0 {
		_, err := tx.ExecContext(ctx, `DELETE FROM streaks WHERE signature = ?`, signature)
		return err //nolint:wrapcheck // Streak says what was done
	}
	text, err := json.Marshal(runs)
	if err != nil {
		return fmt.Errorf("write the streak: %w", err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO streaks (signature, runs, updated) VALUES (?,?,?)
		ON CONFLICT (signature) DO UPDATE SET runs = excluded.runs, updated = excluded.updated`,
		signature, string(text), now)
	if err != nil {
		return err //nolint:wrapcheck // Streak says what was done
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM streaks WHERE signature IN
		(SELECT signature FROM streaks ORDER BY updated DESC LIMIT -1 OFFSET ?)`, maxStreaks)
	return err //nolint:wrapcheck // Streak says what was done
}

// selectGrants reads decisions that are what was written.
var selectGrants = `SELECT name, digest, signature, decision, why, at FROM skill_grants WHERE ` +
	provenIn("skill_grants", "id", "name", "digest", "signature", "decision", "why", "at")

// SkillGrants returns what a person decided about drafts, the oldest first.
func (db *DB) SkillGrants(ctx context.Context) ([]plan.SkillGrant, error) {
	rows, err := db.read.QueryContext(ctx, selectGrants+` ORDER BY id`)
	if err != nil {
		return nil, db.wrapError("read decisions about drafts in", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []plan.SkillGrant
	for rows.Next() {
		var g plan.SkillGrant
		var at int64
		if err := rows.Scan(&g.Name, &g.Digest, &g.Signature, &g.Decision, &g.Why, &at); err != nil {
			return nil, db.wrapError("read decisions about drafts in", err)
		}
		g.At = fromNanos(at)
		out = append(out, g)
	}
	return out, db.wrapError("read decisions about drafts in", rows.Err())
}

// GrantSkill adds a decision.
func (db *DB) GrantSkill(ctx context.Context, g plan.SkillGrant) error {
	_, err := db.write.exec(
		ctx,
		`INSERT INTO skill_grants (name, digest, signature, decision, why, at) VALUES (?,?,?,?,?,?)`,
		g.Name,
		g.Digest,
		g.Signature,
		g.Decision,
		g.Why,
		g.At.UnixNano(),
	)
	return db.wrapError("keep a decision about a draft in", err)
}
