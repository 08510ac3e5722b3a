-- Large contents are kept compressed. Where packed is not null it holds the
-- content as a zstd frame, and line or data is empty; sha and hash are over the
-- content in any case.
ALTER TABLE events ADD COLUMN packed BLOB;
ALTER TABLE blobs ADD COLUMN packed BLOB;

-- What an earlier program has stored as it is, and gc has not been at yet: all
-- of a table that is not above next, from the top.
CREATE TABLE unpacked (
  content TEXT PRIMARY KEY, -- the table
  next    ANY  NOT NULL     -- events: id; blobs: hash
) STRICT, WITHOUT ROWID;
INSERT INTO unpacked SELECT 'events', max(id) FROM events HAVING count(*) > 0;
INSERT INTO unpacked SELECT 'blobs', max(hash) FROM blobs HAVING count(*) > 0;
