-- What a person calls a run; '' where the request speaks for itself. It is a
-- projection like its neighbours. The column is added as in 0007, so that no row is
-- read: ALTER TABLE runs ADD COLUMN title TEXT NOT NULL DEFAULT ''.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = substr(sql, 1, length(sql) - length(') STRICT')) || ', title TEXT NOT NULL DEFAULT '''') STRICT'
  WHERE type = 'table' AND name = 'runs' AND sql LIKE '%) STRICT';
PRAGMA writable_schema = RESET;
SELECT title FROM runs LIMIT 0;
