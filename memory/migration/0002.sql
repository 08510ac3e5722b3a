-- What is remembered across runs. The full-text index over facts is not here:
-- it depends on how SQLite was built, and is made again whenever its version
-- is not that of the facts.
CREATE TABLE facts (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  repo    TEXT    NOT NULL, -- '' for every repository
  hash    BLOB    NOT NULL, -- of the words, so that duplicates are found
  source  TEXT    NOT NULL,
  run     TEXT    NOT NULL,
  seq     INTEGER NOT NULL,
  created INTEGER NOT NULL, -- Unix time in nanoseconds
  used    INTEGER NOT NULL,
  expires INTEGER NOT NULL, -- 0: never
  text    TEXT    NOT NULL,
  UNIQUE (repo, hash)
) STRICT;

-- What a person does not want to be remembered again.
CREATE TABLE forgotten (
  repo TEXT NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY (repo, hash)
) STRICT, WITHOUT ROWID;

-- version counts the changes of facts; each full-text index has a row with the
-- version that it holds.
CREATE TABLE fact_index (
  name    TEXT PRIMARY KEY, -- 'facts' for the facts themselves
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO fact_index VALUES ('facts', 0);

CREATE TABLE skill_stats (
  skill      TEXT    NOT NULL, -- '' is to do without a skill
  phase      TEXT    NOT NULL,
  version    TEXT    NOT NULL, -- digest of the skill that the evidence is about
  alpha      REAL    NOT NULL,
  beta       REAL    NOT NULL,
  prior      REAL    NOT NULL, -- alpha of the prior
  pulls      INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (skill, phase)
) STRICT, WITHOUT ROWID;

-- Which runs have had their say, so that each counts once.
CREATE TABLE skill_outcomes (
  run   TEXT NOT NULL,
  skill TEXT NOT NULL,
  phase TEXT NOT NULL,
  PRIMARY KEY (run, skill, phase)
) STRICT, WITHOUT ROWID;

-- Successes in a row on tasks of one kind. runs is a JSON array of ids.
CREATE TABLE streaks (
  signature TEXT PRIMARY KEY,
  runs      TEXT    NOT NULL,
  updated   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX streaks_updated ON streaks (updated);
CREATE TABLE streak_runs (
  run  TEXT PRIMARY KEY,
  made TEXT NOT NULL -- the streak that the run completed, as JSON, or null
) STRICT, WITHOUT ROWID;

-- What a person decided about drafted skills.
CREATE TABLE skill_grants (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  name      TEXT    NOT NULL,
  digest    TEXT    NOT NULL,
  signature TEXT    NOT NULL,
  decision  TEXT    NOT NULL,
  why       TEXT    NOT NULL,
  at        INTEGER NOT NULL
) STRICT;

-- How the person writes: one row.
CREATE TABLE style (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  data    TEXT    NOT NULL, -- JSON
  updated INTEGER NOT NULL
) STRICT;
