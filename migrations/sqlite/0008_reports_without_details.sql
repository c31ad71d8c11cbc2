-- In SQLite before 3.42, json_valid(NULL) is 0 instead of NULL, so a report without details violated its CHECK: such a program
-- found errors in the file, and could not restore its own dump of it.

CREATE TABLE new_reports (
    handoff_number  INTEGER PRIMARY KEY REFERENCES handoffs (number),
    result          TEXT    NOT NULL CHECK (result = 'passed' OR result = 'failed' OR result = 'blocked'),
    reported_at     INTEGER NOT NULL,
    summary         TEXT    NOT NULL CHECK (instr(summary, char(0)) = 0),
    -- Any JSON value; NULL if there are none.
    details         TEXT    CHECK (details IS NULL OR json_valid(details))
) STRICT;

INSERT INTO new_reports (handoff_number, result, reported_at, summary, details)
SELECT handoff_number, result, reported_at, summary, details FROM reports;

DROP TABLE reports;

ALTER TABLE new_reports RENAME TO reports;
