-- What requests need: work that is left behind, approved by a person, and dispatched by the server; and alerts.

CREATE TABLE requests (
    number              INTEGER PRIMARY KEY,
    id                  TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 100 AND id NOT GLOB '*[^A-Za-z0-9._-]*' AND id NOT GLOB '.*' AND instr(id, char(0)) = 0),
    kind                TEXT    NOT NULL CHECK (length(kind) <= 64 AND kind GLOB '[a-z]*' AND kind NOT GLOB '*[^a-z0-9-]*' AND instr(kind, char(0)) = 0),
    state               TEXT    NOT NULL CHECK (state = 'needs' OR state = 'delegated' OR state = 'next' OR state = 'claimed' OR state = 'done'),
    -- 0 is the most urgent.
    priority            INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
    effort              TEXT    CHECK (effort = 'S' OR effort = 'M' OR effort = 'L'),
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    -- When it was approved last.
    approved_at         INTEGER,
    -- How often it was claimed. The number of the last claim is its fencing number.
    attempts            INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- Whether it has failed as often as it may, and a person must look at it.
    is_stuck            INTEGER NOT NULL DEFAULT 0 CHECK (is_stuck = 0 OR is_stuck = 1),
    -- When its tag was removed from its file.
    withdrawn_at        INTEGER,
    lease_agent         TEXT    CHECK (instr(lease_agent, char(0)) = 0),
    lease_expires_at    INTEGER,
    source_type         TEXT    NOT NULL CHECK (source_type = 'task' OR source_type = 'file' OR source_type = 'person'),
    source_task_number  INTEGER REFERENCES tasks (number),
    source_file         TEXT    CHECK (instr(source_file, char(0)) = 0),
    source_line         INTEGER CHECK (source_line >= 1),
    source_user_id      TEXT    CHECK (instr(source_user_id, char(0)) = 0),
    -- The task on which it is worked.
    task_number         INTEGER REFERENCES tasks (number),
    -- The hand-off that works on it now, if the dispatcher began one.
    handoff_number      INTEGER REFERENCES handoffs (number),
    -- Whether the hand-off only starts a job elsewhere, and what its command calls that job.
    is_job              INTEGER NOT NULL DEFAULT 0 CHECK (is_job = 0 OR is_job = 1),
    job_id              TEXT    CHECK (job_id <> '' AND instr(job_id, char(0)) = 0),
    -- The working directory of whoever works on it; NULL for one of its own.
    agent_workspace     TEXT    CHECK (instr(agent_workspace, char(0)) = 0),
    title               TEXT    NOT NULL CHECK (title <> '' AND instr(title, char(0)) = 0),
    body                TEXT    NOT NULL CHECK (instr(body, char(0)) = 0),
    response            TEXT    CHECK (instr(response, char(0)) = 0),
    CHECK ((lease_agent IS NULL) = (lease_expires_at IS NULL)),
    CHECK (state = 'claimed' OR (lease_agent IS NULL AND handoff_number IS NULL)),
    CHECK (lease_agent IS NULL OR attempts > 0),
    CHECK (handoff_number IS NULL OR lease_agent IS NOT NULL),
    CHECK (is_job = 1 OR job_id IS NULL),
    CHECK ((state = 'done') = (response IS NOT NULL)),
    CHECK (state = 'needs' OR is_stuck = 0),
    CHECK (source_type = 'task' OR source_task_number IS NULL),
    CHECK (source_type = 'file' OR (source_file IS NULL AND source_line IS NULL))
) STRICT;

-- Serves the list of requests with ?state=, oldest first.
CREATE INDEX requests_by_state ON requests (state);

-- Serves the choice of the next request: the oldest of each priority and kind.
CREATE INDEX requests_delegated ON requests (priority, kind) WHERE state = 'delegated' AND withdrawn_at IS NULL;

-- Serves the wait for the last approval.
CREATE INDEX requests_approved ON requests (approved_at) WHERE state = 'delegated' AND withdrawn_at IS NULL;

-- Serves the search for leases that ran out.
CREATE INDEX requests_leased ON requests (lease_expires_at) WHERE lease_expires_at IS NOT NULL;

-- Serves the end of a hand-off: which requests it worked on.
CREATE INDEX requests_by_handoff ON requests (handoff_number) WHERE handoff_number IS NOT NULL;

-- Serves the question whether all that a task was made for is done.
CREATE INDEX requests_by_task ON requests (task_number) WHERE task_number IS NOT NULL;

-- Serves the search for the request of a tag that has come back.
CREATE INDEX requests_of_files ON requests (title) WHERE source_type = 'file' AND state <> 'done';

CREATE TRIGGER requests_are_never_deleted BEFORE DELETE ON requests
BEGIN
    SELECT RAISE(ABORT, 'a request is never deleted: it is done or withdrawn');
END;

CREATE TABLE request_transitions (
    number          INTEGER PRIMARY KEY,
    request_number  INTEGER NOT NULL REFERENCES requests (number),
    -- NULL for its beginning.
    from_state      TEXT    CHECK (from_state = 'needs' OR from_state = 'delegated' OR from_state = 'next' OR from_state = 'claimed' OR from_state = 'done'),
    to_state        TEXT    NOT NULL CHECK (to_state = 'needs' OR to_state = 'delegated' OR to_state = 'next' OR to_state = 'claimed' OR to_state = 'done'),
    moved_by        TEXT    NOT NULL CHECK (instr(moved_by, char(0)) = 0),
    moved_at        INTEGER NOT NULL,
    -- Whether the file said so: the file wins, also over the order of states.
    is_by_file      INTEGER NOT NULL DEFAULT 0 CHECK (is_by_file = 0 OR is_by_file = 1),
    reason          TEXT    CHECK (instr(reason, char(0)) = 0),
    CHECK (is_by_file = 1
           OR (from_state IS NULL AND to_state = 'needs')
           OR (from_state IS 'needs' AND (to_state = 'delegated' OR to_state = 'next' OR to_state = 'done'))
           OR ((from_state IS 'delegated' OR from_state IS 'next') AND to_state = 'claimed')
           OR (from_state IS 'claimed' AND (to_state = 'done' OR to_state = 'needs' OR to_state = 'delegated')))
) STRICT;

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

-- What was done about a claim that came to nothing.
CREATE TABLE request_recoveries (
    number          INTEGER PRIMARY KEY,
    request_number  INTEGER NOT NULL REFERENCES requests (number),
    recovered_at    INTEGER NOT NULL,
    -- The run that came to nothing, if there was one.
    earlier_run_id  TEXT,
    reason          TEXT    NOT NULL CHECK (instr(reason, char(0)) = 0),
    action          TEXT    NOT NULL CHECK (instr(action, char(0)) = 0)
) STRICT;

-- Serves the recoveries of a request, in order.
CREATE INDEX request_recoveries_by_request ON request_recoveries (request_number);

-- The tag in a file that a request stands for. `state` is what the file said when the two agreed last: if the file says
-- something else now, somebody changed it; if the request does, its change is still to be written.
CREATE TABLE request_tags (
    request_number  INTEGER PRIMARY KEY REFERENCES requests (number),
    file            TEXT    NOT NULL CHECK (file <> '' AND instr(file, char(0)) = 0),
    state           TEXT    NOT NULL CHECK (state = 'needs' OR state = 'delegated' OR state = 'next' OR state = 'claimed' OR state = 'done'),
    -- How many of its recoveries the file tells of.
    recoveries      INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Serves the requests of a file.
CREATE INDEX request_tags_by_file ON request_tags (file);

-- Who gets requests of a kind, how, and which kinds come first. A kind without a route is never dispatched.
CREATE TABLE dispatch_routes (
    kind           TEXT    NOT NULL PRIMARY KEY CHECK (length(kind) <= 64 AND kind GLOB '[a-z]*' AND kind NOT GLOB '*[^a-z0-9-]*' AND instr(kind, char(0)) = 0),
    agent_name     TEXT    NOT NULL,
    mode           TEXT    NOT NULL CHECK (mode = 'agent' OR mode = 'interactive' OR mode = 'async'),
    -- Lower is dispatched first.
    rank           REAL    NOT NULL,
    -- Whether requests that wait together are given to one agent.
    batch          INTEGER NOT NULL CHECK (batch = 0 OR batch = 1),
    -- Whether what failed is tried again without a person.
    retry          INTEGER NOT NULL CHECK (retry = 0 OR retry = 1),
    max_attempts   INTEGER NOT NULL CHECK (max_attempts BETWEEN 1 AND 100),
    -- Of an asynchronous route: what starts a job and prints its id, and what is asked whether it is finished.
    start_command  TEXT    CHECK (json_type(start_command) = 'array'),
    poll_command   TEXT    CHECK (json_type(poll_command) = 'array'),
    poll_seconds   INTEGER NOT NULL CHECK (poll_seconds BETWEEN 1 AND 86400),
    CHECK ((mode = 'async') = (start_command IS NOT NULL)),
    CHECK ((mode = 'async') = (poll_command IS NOT NULL))
) STRICT;

-- When the default routes were planted: once, so that deleted ones stay deleted.
ALTER TABLE installation ADD COLUMN routes_planted_at INTEGER;

-- Something that a person must see until it is resolved.
CREATE TABLE alerts (
    number       INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    task_number  INTEGER REFERENCES tasks (number),
    raised_at    INTEGER NOT NULL,
    raised_by    TEXT    NOT NULL CHECK (instr(raised_by, char(0)) = 0),
    resolved_at  INTEGER,
    resolved_by  TEXT    CHECK (instr(resolved_by, char(0)) = 0),
    -- The file that has its tag.
    file         TEXT    CHECK (instr(file, char(0)) = 0),
    line         INTEGER CHECK (line >= 1),
    -- Whether the file said that it is active when the two agreed last.
    is_active_in_file INTEGER CHECK (is_active_in_file = 0 OR is_active_in_file = 1),
    message      TEXT    NOT NULL CHECK (message <> '' AND instr(message, char(0)) = 0),
    CHECK ((resolved_at IS NULL) = (resolved_by IS NULL)),
    CHECK ((file IS NULL) = (line IS NULL)),
    CHECK ((file IS NULL) = (is_active_in_file IS NULL))
) STRICT;

-- Serves the list of alerts that are not resolved.
CREATE INDEX alerts_active ON alerts (number) WHERE resolved_at IS NULL;

-- Serves the alerts of files.
CREATE INDEX alerts_by_file ON alerts (file) WHERE file IS NOT NULL;

CREATE TRIGGER alerts_are_never_deleted BEFORE DELETE ON alerts
BEGIN
    SELECT RAISE(ABORT, 'an alert is never deleted: it is resolved');
END;

-- The request that an event is about.
ALTER TABLE events ADD COLUMN request_number INTEGER REFERENCES requests (number);

CREATE VIEW open_requests AS
SELECT r.id,
       r.state,
       'P' || r.priority AS priority,
       r.effort,
       r.kind,
       d.agent_name AS route_agent,
       r.attempts,
       r.is_stuck AS stuck,
       r.lease_agent,
       strftime('%Y-%m-%d %H:%M:%f', r.lease_expires_at / 1000.0, 'unixepoch') AS lease_expires_at,
       strftime('%Y-%m-%d %H:%M:%f', r.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', r.updated_at / 1000.0, 'unixepoch') AS updated_at,
       t.id AS task_id,
       r.source_file,
       r.source_line,
       r.title
  FROM requests r
  LEFT JOIN dispatch_routes d ON d.kind = r.kind
  LEFT JOIN tasks t ON t.number = r.task_number
 WHERE r.state <> 'done' AND r.withdrawn_at IS NULL;

CREATE VIEW active_alerts AS
SELECT a.id,
       strftime('%Y-%m-%d %H:%M:%f', a.raised_at / 1000.0, 'unixepoch') AS raised_at,
       a.raised_by,
       t.id AS task_id,
       a.file,
       a.line,
       a.message
  FROM alerts a
  LEFT JOIN tasks t ON t.number = a.task_number
 WHERE a.resolved_at IS NULL;
