-- What a person calls a run; '' where the request speaks for itself. It is a
-- projection like its neighbours.
ALTER TABLE runs ADD COLUMN title TEXT NOT NULL DEFAULT '';
