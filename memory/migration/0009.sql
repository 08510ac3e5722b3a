-- A sum over all else that stands in a row, in the tables whose rows nothing else proves.
-- It is kept by triggers (row_sum.go), and null in rows that an earlier program has
-- written. The columns are added as in 0007, so that no row is read:
-- ALTER TABLE … ADD COLUMN sum BLOB. A column that is added to one of these tables later
-- has its sums set to null.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ', sum BLOB) STRICT')
  WHERE type = 'table'
  AND name IN ('baselines', 'batches', 'inbox', 'skill_grants', 'streaks', 'streak_runs', 'style', 'tool_uses');
UPDATE sqlite_schema
  SET sql = replace(replace(sql, 'PRIMARY KEY (', 'sum BLOB, PRIMARY KEY ('), 'UNIQUE (', 'sum BLOB, UNIQUE (')
  WHERE type = 'table' AND name IN ('batch_jobs', 'facts', 'forgotten', 'skill_outcomes', 'skill_stats');
PRAGMA writable_schema = RESET;
SELECT baselines.sum, batches.sum, inbox.sum, skill_grants.sum, streaks.sum, streak_runs.sum, style.sum, tool_uses.sum,
  batch_jobs.sum, facts.sum, forgotten.sum, skill_outcomes.sum, skill_stats.sum
  FROM baselines, batches, inbox, skill_grants, streaks, streak_runs, style, tool_uses,
  batch_jobs, facts, forgotten, skill_outcomes, skill_stats LIMIT 0;
