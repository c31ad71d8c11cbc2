-- The bytes of a run's standard error whose errors were recorded as messages, so that a restarted server does not record them again.
ALTER TABLE runs ADD COLUMN followed_error_bytes INTEGER NOT NULL DEFAULT 0 CHECK (followed_error_bytes >= 0);
