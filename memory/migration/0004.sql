-- How checks stood on a tree, over all runs. It only saves time: a row that is
-- missing is found out again, so nothing refers to it.
CREATE TABLE baselines (
  key     TEXT    PRIMARY KEY, -- made of the tree, the command and its surroundings
  result  TEXT    NOT NULL,    -- JSON
  created INTEGER NOT NULL     -- Unix time in nanoseconds
) STRICT;
