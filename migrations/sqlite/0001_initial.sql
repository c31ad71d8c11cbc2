-- Tasks, hand-offs, runs, events, agents and what belongs to them.
--
-- Times are integer milliseconds since the epoch, UTC; the views at the end show them as text.
-- Every table has an integer key (`number`, in order of creation) that other tables refer to; `id` is the public name.
-- Long text stands last in its row, so that reading the short columns does not touch it.
-- No text has a NUL character: SQLite's own functions (GLOB in the checks of names, for one) end there, other readers do not.
-- Words of a closed list are compared one by one: for IN with more than two words SQLite builds a temporary tree at
-- every write; those trees were a third of the cost of a hand-off.

CREATE TABLE tasks (
    number                  INTEGER PRIMARY KEY,
    id                      TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 100 AND id NOT GLOB '*[^A-Za-z0-9._-]*' AND id NOT GLOB '.*' AND instr(id, char(0)) = 0),
    status                  TEXT    NOT NULL CHECK (status = 'pending' OR status = 'active' OR status = 'waiting' OR status = 'completed' OR status = 'failed'),
    created_at              INTEGER NOT NULL,
    updated_at              INTEGER NOT NULL,
    session_id              TEXT    CHECK (instr(session_id, char(0)) = 0),
    source_type             TEXT    NOT NULL CHECK (instr(source_type, char(0)) = 0),
    source_user_id          TEXT    NOT NULL CHECK (instr(source_user_id, char(0)) = 0),
    source_conversation_id  TEXT    CHECK (instr(source_conversation_id, char(0)) = 0),
    agent_workspace         TEXT    NOT NULL CHECK (instr(agent_workspace, char(0)) = 0),
    failure_message         TEXT    CHECK (instr(failure_message, char(0)) = 0),
    description             TEXT    NOT NULL CHECK (instr(description, char(0)) = 0),
    -- Planning: all four are there (the task is planned) or none is.
    summary                 TEXT    CHECK (instr(summary, char(0)) = 0),
    requirements            TEXT    CHECK (json_type(requirements) = 'array'),
    acceptance_criteria     TEXT    CHECK (json_type(acceptance_criteria) = 'array'),
    plan                    TEXT    CHECK (json_type(plan) = 'array'),
    CHECK ((failure_message IS NOT NULL) = (status = 'failed')),
    CHECK ((summary IS NULL) = (requirements IS NULL)
       AND (summary IS NULL) = (acceptance_criteria IS NULL)
       AND (summary IS NULL) = (plan IS NULL))
) STRICT;

-- Serves the task list with ?status=, oldest first.
CREATE INDEX tasks_by_status ON tasks (status);

CREATE TABLE handoffs (
    number        INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    task_number   INTEGER NOT NULL REFERENCES tasks (number),
    position      INTEGER NOT NULL CHECK (position >= 1),
    agent_name    TEXT    NOT NULL,
    from_agent    TEXT,
    mode          TEXT    NOT NULL CHECK (mode = 'delegate' OR mode = 'transfer' OR mode = 'request' OR mode = 'route' OR mode = 'session'),
    started_at    INTEGER NOT NULL,
    completed_at  INTEGER,
    outcome       TEXT    CHECK (outcome = 'completed' OR outcome = 'failed' OR outcome = 'cancelled' OR outcome = 'timed_out' OR outcome = 'interrupted'),
    reason        TEXT    CHECK (instr(reason, char(0)) = 0),
    output        TEXT    NOT NULL DEFAULT '' CHECK (instr(output, char(0)) = 0),
    prompt        TEXT    NOT NULL CHECK (instr(prompt, char(0)) = 0),
    CHECK ((completed_at IS NULL) = (outcome IS NULL)),
    CHECK (completed_at IS NOT NULL OR output = ''),
    -- Serves the agent chain of a task, in order.
    UNIQUE (task_number, position)
) STRICT;

-- At most one open hand-off per task. Serves `currentAgent` of every task that is read.
CREATE UNIQUE INDEX handoffs_open ON handoffs (task_number) WHERE completed_at IS NULL;

CREATE TRIGGER handoffs_are_never_deleted BEFORE DELETE ON handoffs
BEGIN
    SELECT RAISE(ABORT, 'the agent chain only grows: a hand-off is never deleted');
END;

CREATE TRIGGER completed_handoffs_never_change BEFORE UPDATE ON handoffs WHEN OLD.completed_at IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a completed hand-off never changes');
END;

CREATE TRIGGER handoffs_keep_their_beginning
BEFORE UPDATE OF number, id, task_number, position, agent_name, from_agent, mode, started_at, reason, prompt ON handoffs
BEGIN
    SELECT RAISE(ABORT, 'only the end of a hand-off can be written');
END;

CREATE TABLE runs (
    number          INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    handoff_number  INTEGER NOT NULL REFERENCES handoffs (number),
    attempt         INTEGER NOT NULL CHECK (attempt >= 1),
    state           TEXT    NOT NULL CHECK (state = 'queued' OR state = 'running' OR state = 'ended'),
    outcome         TEXT    CHECK (outcome = 'completed' OR outcome = 'failed' OR outcome = 'cancelled' OR outcome = 'timed_out' OR outcome = 'interrupted'),
    queued_at       INTEGER NOT NULL,
    started_at      INTEGER,
    ended_at        INTEGER,
    cost_usd        REAL    CHECK (cost_usd >= 0),
    usage           TEXT    CHECK (json_type(usage) = 'object'),
    CHECK ((state = 'ended') = (ended_at IS NOT NULL)),
    CHECK ((state = 'ended') = (outcome IS NOT NULL)),
    CHECK (state <> 'queued' OR started_at IS NULL),
    CHECK (state <> 'running' OR started_at IS NOT NULL),
    -- Serves the runs of a hand-off; the last attempt is the one that counts.
    UNIQUE (handoff_number, attempt)
) STRICT;

-- At most one run that is not ended per hand-off. Serves `active_runs`.
CREATE UNIQUE INDEX runs_not_ended ON runs (handoff_number) WHERE state <> 'ended';

CREATE TABLE events (
    number          INTEGER PRIMARY KEY,
    task_number     INTEGER REFERENCES tasks (number),
    handoff_number  INTEGER REFERENCES handoffs (number),
    occurred_at     INTEGER NOT NULL,
    type            TEXT    NOT NULL CHECK (type <> ''),
    data            TEXT    NOT NULL CHECK (json_type(data) = 'object')
) STRICT;

-- Serves the history of a task, oldest first.
CREATE INDEX events_by_task ON events (task_number);

CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
BEGIN
    SELECT RAISE(ABORT, 'history is append-only: an event is never deleted');
END;

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN
    SELECT RAISE(ABORT, 'history is append-only: an event never changes');
END;

-- Names differ by more than case, so that a name can be matched leniently.
CREATE TABLE agents (
    name             TEXT    NOT NULL PRIMARY KEY COLLATE NOCASE CHECK (length(name) BETWEEN 1 AND 100 AND name NOT GLOB '*[^A-Za-z0-9._-]*' AND name NOT GLOB '.*' AND instr(name, char(0)) = 0),
    spec_path        TEXT    NOT NULL CHECK (instr(spec_path, char(0)) = 0),
    allowed_tools    TEXT    NOT NULL CHECK (instr(allowed_tools, char(0)) = 0),
    permission_mode  TEXT    NOT NULL CHECK (instr(permission_mode, char(0)) = 0),
    provider         TEXT    NOT NULL CHECK (provider IN ('claude-code', 'codex', 'opencode', 'gemini', 'command')),
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL
) STRICT;

CREATE TABLE queue_messages (
    number       INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    task_number  INTEGER NOT NULL REFERENCES tasks (number),
    received_at  INTEGER NOT NULL,
    content      TEXT    NOT NULL CHECK (instr(content, char(0)) = 0)
) STRICT;

-- Serves the queue of a task, oldest first.
CREATE INDEX queue_messages_by_task ON queue_messages (task_number);

-- The bytes are in uploads/<task id>/<attachment id>/<filename> below the data directory.
CREATE TABLE attachments (
    number        INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE,
    task_number   INTEGER NOT NULL REFERENCES tasks (number),
    filename      TEXT    NOT NULL CHECK (filename <> '' AND instr(filename, '/') = 0 AND instr(filename, char(0)) = 0),
    size          INTEGER NOT NULL CHECK (size >= 0),
    content_type  TEXT    NOT NULL CHECK (instr(content_type, char(0)) = 0),
    uploaded_at   INTEGER NOT NULL,
    -- Serves the attachments of a task, and one of them by its name.
    UNIQUE (task_number, filename)
) STRICT;

-- The answer of a request that carried an Idempotency-Key, written in the transaction that it tells of.
CREATE TABLE idempotency_keys (
    number       INTEGER PRIMARY KEY,
    key          TEXT    NOT NULL UNIQUE,
    fingerprint  BLOB    NOT NULL CHECK (length(fingerprint) = 32),
    created_at   INTEGER NOT NULL,
    answer       TEXT    NOT NULL
) STRICT;

-- One row about this database: when the default agents were planted (once, so that deleted ones stay deleted),
-- and when a readiness check last wrote.
CREATE TABLE installation (
    only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
    seeded_at  INTEGER,
    ready_at   INTEGER
) STRICT;

INSERT INTO installation (only_row) VALUES (1);

CREATE VIEW board AS
SELECT t.id,
       t.status,
       h.agent_name AS current_agent,
       (SELECT count(*) FROM handoffs c WHERE c.task_number = t.number) AS handoffs,
       strftime('%Y-%m-%d %H:%M:%f', t.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', t.updated_at / 1000.0, 'unixepoch') AS updated_at,
       t.description
  FROM tasks t
  LEFT JOIN handoffs h ON h.task_number = t.number AND h.completed_at IS NULL;

CREATE VIEW chain AS
SELECT t.id AS task_id,
       h.position,
       h.id AS handoff_id,
       h.from_agent,
       h.agent_name,
       h.mode,
       coalesce(h.outcome, 'open') AS outcome,
       strftime('%Y-%m-%d %H:%M:%f', h.started_at / 1000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%d %H:%M:%f', h.completed_at / 1000.0, 'unixepoch') AS completed_at,
       (h.completed_at - h.started_at) / 1000.0 AS seconds,
       h.reason,
       h.prompt,
       h.output
  FROM handoffs h
  JOIN tasks t ON t.number = h.task_number;

CREATE VIEW active_runs AS
SELECT r.id AS run_id,
       r.state,
       r.attempt,
       t.id AS task_id,
       h.id AS handoff_id,
       h.agent_name,
       strftime('%Y-%m-%d %H:%M:%f', r.queued_at / 1000.0, 'unixepoch') AS queued_at,
       strftime('%Y-%m-%d %H:%M:%f', r.started_at / 1000.0, 'unixepoch') AS started_at
  FROM runs r
  JOIN handoffs h ON h.number = r.handoff_number
  JOIN tasks t ON t.number = h.task_number
 WHERE r.state <> 'ended';
