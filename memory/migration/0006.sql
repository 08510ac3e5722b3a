-- How far the change of a job was handed to other people, such as by opening a
-- pull request: JSON, or null. The column is added as in 0007, so that no row is read:
-- ALTER TABLE batch_jobs ADD COLUMN published TEXT NOT NULL DEFAULT 'null'.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
  SET sql = replace(sql, 'PRIMARY KEY (batch, id)', 'published TEXT NOT NULL DEFAULT ''null'', PRIMARY KEY (batch, id)')
  WHERE type = 'table' AND name = 'batch_jobs';
PRAGMA writable_schema = RESET;
SELECT published FROM batch_jobs LIMIT 0;
