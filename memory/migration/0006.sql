-- How far the change of a job was handed to other people, such as by opening a
-- pull request.
ALTER TABLE batch_jobs ADD COLUMN published TEXT NOT NULL DEFAULT 'null'; -- JSON, or null
