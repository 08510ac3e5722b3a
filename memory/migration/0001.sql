-- One row a run. Everything after token, head and chain is a projection: it
-- can be computed again from the run's events, and is kept here, in the same
-- transaction, so that listing runs does not read journals.
CREATE TABLE runs (
  key        INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  token      INTEGER NOT NULL, -- fencing: raised by every new owner
  head       INTEGER NOT NULL, -- seq of the last event
  chain      BLOB    NOT NULL, -- sha of the last event
  state      TEXT    NOT NULL,
  parked     TEXT    NOT NULL,
  wake_at    TEXT,             -- RFC 3339
  outcome    TEXT    NOT NULL, -- '' until run_end
  created    INTEGER NOT NULL, -- Unix time in nanoseconds
  updated    INTEGER NOT NULL,
  requests   INTEGER NOT NULL,
  input      INTEGER NOT NULL,
  cached     INTEGER NOT NULL,
  output     INTEGER NOT NULL,
  reasoning  INTEGER NOT NULL,
  cost_usd   REAL    NOT NULL,
  priced     INTEGER NOT NULL,
  repo       TEXT    NOT NULL,
  job        TEXT    NOT NULL,
  request    TEXT    NOT NULL  -- last: it may be long
) STRICT;
CREATE INDEX runs_created ON runs (created);

-- The journals. line holds the exact bytes that were committed, and
-- sha = SHA-256(sha of the event before || line).
CREATE TABLE events (
  id   INTEGER PRIMARY KEY,
  run  INTEGER NOT NULL REFERENCES runs (key),
  seq  INTEGER NOT NULL,
  type TEXT    NOT NULL,
  conv TEXT    NOT NULL,
  line TEXT    NOT NULL,
  sha  BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_seq ON events (run, seq);
CREATE INDEX events_conv ON events (run, conv, seq) WHERE conv <> '';

CREATE TABLE blobs (
  hash TEXT    PRIMARY KEY, -- hex SHA-256 of data
  size INTEGER NOT NULL,
  data BLOB    NOT NULL
) STRICT;

-- Which runs need which blobs, for garbage collection.
CREATE TABLE blob_refs (
  run  INTEGER NOT NULL REFERENCES runs (key),
  hash TEXT    NOT NULL REFERENCES blobs (hash),
  PRIMARY KEY (run, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_refs_hash ON blob_refs (hash);

-- Letters from other processes to the owner of a run.
CREATE TABLE inbox (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  run       INTEGER NOT NULL REFERENCES runs (key),
  kind      TEXT    NOT NULL,
  data      TEXT    NOT NULL,
  created   INTEGER NOT NULL,
  taken_seq INTEGER -- head of the run after the append that took the letter
) STRICT;
CREATE INDEX inbox_waiting ON inbox (run, id) WHERE taken_seq IS NULL;
