-- Batches: the queue of many jobs. A job's work is a run with a journal of its
-- own; here is only which run that is, and how far the job has got.
CREATE TABLE batches (
  id       TEXT    PRIMARY KEY,
  digest   TEXT    NOT NULL, -- of the jobs, so that the same ones are known again
  name     TEXT    NOT NULL, -- where the jobs were read from, for people
  settings TEXT    NOT NULL, -- JSON: what the batch is driven with
  most     INTEGER NOT NULL, -- jobs that may be started; 0 means all
  created  INTEGER NOT NULL, -- Unix time in nanoseconds
  updated  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX batches_digest ON batches (digest);

CREATE TABLE batch_jobs (
  batch    TEXT    NOT NULL REFERENCES batches (id),
  id       TEXT    NOT NULL,
  place    INTEGER NOT NULL, -- in the list that it came from
  turn     INTEGER NOT NULL, -- place among the jobs of its repository
  priority INTEGER NOT NULL, -- higher goes first
  state    TEXT    NOT NULL,
  run      TEXT    NOT NULL, -- '' before the first start
  started  INTEGER NOT NULL, -- first start; 0 before it
  ended    INTEGER NOT NULL, -- 0 while there is something left to do
  spec     TEXT    NOT NULL, -- JSON: what is to be done
  result   TEXT    NOT NULL, -- JSON: what came of it, or null
  PRIMARY KEY (batch, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX batch_jobs_next ON batch_jobs (batch, state, priority DESC, turn, place);
