-- Large contents are kept compressed. Where packed is not null it holds the
-- content as a zstd frame, and line or data is empty; sha and hash are over the
-- content in any case.
--
-- This is ALTER TABLE events ADD COLUMN packed BLOB, and so for blobs. But of a STRICT
-- table that reads every row, to see whether the default fits, and there may be
-- gigabytes of them. So the column is written where ALTER TABLE writes it; the table
-- that is made below tells other processes that the schema has changed.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = substr(sql, 1, length(sql) - length(') STRICT')) || ', packed BLOB) STRICT'
  WHERE type = 'table' AND name IN ('events', 'blobs') AND sql LIKE '%) STRICT';
PRAGMA writable_schema = RESET;
SELECT events.packed, blobs.packed FROM events, blobs LIMIT 0;

-- What an earlier program has stored as it is, and gc has not been at yet: what
-- stands below next in a table.
CREATE TABLE unpacked (
  content TEXT PRIMARY KEY, -- the table
  next    ANY  NOT NULL     -- events: id; blobs: hash
) STRICT, WITHOUT ROWID;
INSERT INTO unpacked SELECT 'events', id + 1 FROM events ORDER BY id DESC LIMIT 1;
INSERT INTO unpacked SELECT 'blobs', hash || ' ' FROM blobs ORDER BY hash DESC LIMIT 1;
