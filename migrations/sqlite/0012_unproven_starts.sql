-- How often the run was started again because its files say that its agent never began. An agent can forge its files, so three times
-- is the most. A supervisor that says so by its exit code cannot be forged, and is not counted.
ALTER TABLE runs ADD COLUMN unproven_starts INTEGER NOT NULL DEFAULT 0 CHECK (unproven_starts BETWEEN 0 AND 3);
