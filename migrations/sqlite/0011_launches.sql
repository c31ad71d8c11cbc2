-- When the supervisor of the run was started. Such a run is never started again, whatever became of its files.
ALTER TABLE runs ADD COLUMN launched_at INTEGER;
-- The limits that it was started with. The files of the run say the same, but its agent can change them.
ALTER TABLE runs ADD COLUMN max_seconds INTEGER CHECK (max_seconds >= 0);
ALTER TABLE runs ADD COLUMN idle_seconds INTEGER CHECK (idle_seconds >= 0);
