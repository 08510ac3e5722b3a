-- Large contents are kept compressed. Where packed is not null it holds the
-- content as a zstd frame, and line or data is empty; sha and hash are over the
-- content in any case.
ALTER TABLE events ADD COLUMN packed BLOB;
ALTER TABLE blobs ADD COLUMN packed BLOB;

-- What an earlier program has stored as it is, and gc has not been at yet: what
-- stands below next in a table.
CREATE TABLE unpacked (
  content TEXT PRIMARY KEY, -- the table
  next    ANY  NOT NULL     -- events: id; blobs: hash
) STRICT, WITHOUT ROWID;
INSERT INTO unpacked SELECT 'events', id + 1 FROM events ORDER BY id DESC LIMIT 1;
INSERT INTO unpacked SELECT 'blobs', hash || ' ' FROM blobs ORDER BY hash DESC LIMIT 1;
