-- Approvals can be taken back: a request returns from `delegated` or `next` to `needs`. SQLite cannot change a CHECK, so the table
-- is copied. An agent that claims a request keeps its claim while its hand-off is open.

CREATE TABLE new_request_transitions (
    number          INTEGER PRIMARY KEY,
    request_number  INTEGER NOT NULL REFERENCES requests (number),
    -- NULL for a new request.
    from_state      TEXT    CHECK (from_state = 'needs' OR from_state = 'delegated' OR from_state = 'next' OR from_state = 'claimed' OR from_state = 'done'),
    to_state        TEXT    NOT NULL CHECK (to_state = 'needs' OR to_state = 'delegated' OR to_state = 'next' OR to_state = 'claimed' OR to_state = 'done'),
    moved_by        TEXT    NOT NULL CHECK (instr(moved_by, char(0)) = 0),
    moved_at        INTEGER NOT NULL,
    -- Whether a file set the state. A file may set any state.
    is_by_file      INTEGER NOT NULL DEFAULT 0 CHECK (is_by_file = 0 OR is_by_file = 1),
    reason          TEXT    CHECK (instr(reason, char(0)) = 0),
    CHECK (is_by_file = 1
           OR (from_state IS NULL AND to_state = 'needs')
           OR (from_state IS 'needs' AND (to_state = 'delegated' OR to_state = 'next' OR to_state = 'done'))
           OR ((from_state IS 'delegated' OR from_state IS 'next') AND (to_state = 'claimed' OR to_state = 'needs'))
           OR (from_state IS 'claimed' AND (to_state = 'done' OR to_state = 'needs' OR to_state = 'delegated')))
) STRICT;

INSERT INTO new_request_transitions (number, request_number, from_state, to_state, moved_by, moved_at, is_by_file, reason)
SELECT number, request_number, from_state, to_state, moved_by, moved_at, is_by_file, reason FROM request_transitions ORDER BY number;

DROP TABLE request_transitions;

ALTER TABLE new_request_transitions RENAME TO request_transitions;

-- Serves the transitions of a request, in order.
CREATE INDEX request_transitions_by_request ON request_transitions (request_number);

CREATE TRIGGER request_transitions_are_never_deleted BEFORE DELETE ON request_transitions
BEGIN
    SELECT RAISE(ABORT, 'the life of a request is append-only: a transition is never deleted');
END;

CREATE TRIGGER request_transitions_never_change BEFORE UPDATE ON request_transitions
BEGIN
    SELECT RAISE(ABORT, 'the life of a request is append-only: a transition never changes');
END;

-- The hand-off whose agent claimed the request beside its own work. The dispatcher did not start that hand-off for the request.
ALTER TABLE requests ADD COLUMN claimant_number INTEGER REFERENCES handoffs (number)
    CHECK (claimant_number IS NULL OR (lease_agent IS NOT NULL AND handoff_number IS NULL));

-- Serves the end of a hand-off: the requests that its agent claimed and did not finish.
CREATE INDEX requests_by_claimant ON requests (claimant_number) WHERE claimant_number IS NOT NULL;

-- Serves the offer of requests to an agent that starts.
CREATE INDEX requests_next ON requests (kind, priority) WHERE state = 'next' AND withdrawn_at IS NULL;
