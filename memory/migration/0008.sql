-- What became of tools from outside: how often they were offered, called, and failed. It
-- says nothing that a journal does not, and is kept so that no journal need be read for it.
CREATE TABLE tool_uses (
  id    INTEGER PRIMARY KEY,
  tool  TEXT    NOT NULL,
  repo  TEXT    NOT NULL,
  run   TEXT    NOT NULL,
  phase TEXT    NOT NULL,
  use   TEXT    NOT NULL, -- offered, called or failed
  ms    INTEGER NOT NULL,
  at    INTEGER NOT NULL  -- unix nanoseconds
) STRICT;
CREATE INDEX tool_uses_at ON tool_uses (at);
