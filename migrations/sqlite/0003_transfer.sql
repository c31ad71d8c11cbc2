-- What transfers, conversations and sessions need: hand-off tools, context, one chain over many tasks, who said what.

-- Whether the agent takes hand-offs now.
ALTER TABLE agents ADD COLUMN available INTEGER NOT NULL DEFAULT 1 CHECK (available = 0 OR available = 1);

-- The first task of the chain; NULL for the first itself. It never changes, because a parent never does.
ALTER TABLE tasks ADD COLUMN master_number INTEGER REFERENCES tasks (number);
-- The context variables that came with the hand-offs to this task.
ALTER TABLE tasks ADD COLUMN context TEXT NOT NULL DEFAULT '{}' CHECK (json_type(context) = 'object');

WITH RECURSIVE below (number, master_number) AS (
    SELECT c.number, p.number FROM tasks c JOIN tasks p ON p.number = c.parent_number WHERE p.parent_number IS NULL
    UNION ALL
    SELECT c.number, below.master_number FROM tasks c JOIN below ON c.parent_number = below.number
)
UPDATE tasks SET master_number = below.master_number FROM below WHERE below.number = tasks.number;

-- Serves the tree of a task, and the count of its hops.
CREATE INDEX tasks_by_master ON tasks (master_number) WHERE master_number IS NOT NULL;

-- The hand-off that this one came from: the one whose agent asked, or that moved here.
ALTER TABLE handoffs ADD COLUMN from_number INTEGER REFERENCES handoffs (number);
-- The hand-off whose agent waits for the end of this one. A transfer inherits it: who waited for the first waits for the last.
ALTER TABLE handoffs ADD COLUMN waiter_number INTEGER REFERENCES handoffs (number);
-- The W3C trace that it belongs to; NULL for one that began with it, whose id is that of the hand-off.
ALTER TABLE handoffs ADD COLUMN trace_id TEXT CHECK (length(trace_id) = 32 AND trace_id NOT GLOB '*[^0-9a-f]*');
-- The span from which it was asked, if whoever asked said so.
ALTER TABLE handoffs ADD COLUMN parent_span_id TEXT CHECK (length(parent_span_id) = 16 AND parent_span_id NOT GLOB '*[^0-9a-f]*');
-- Whether Chorus runs the agent. A session may only record that somebody else did.
ALTER TABLE handoffs ADD COLUMN is_invoked INTEGER NOT NULL DEFAULT 1 CHECK (is_invoked = 0 OR is_invoked = 1);

DROP TRIGGER completed_handoffs_never_change;
DROP TRIGGER handoffs_keep_their_beginning;

UPDATE handoffs
   SET from_number = (SELECT max(p.number) FROM tasks t
                        JOIN handoffs p ON p.task_number = t.parent_number
                       WHERE t.number = handoffs.task_number AND p.agent_name = handoffs.from_agent
                         AND p.number < handoffs.number)
 WHERE from_agent IS NOT NULL;
UPDATE handoffs SET waiter_number = from_number WHERE from_number IS NOT NULL;

CREATE TRIGGER completed_handoffs_never_change BEFORE UPDATE ON handoffs WHEN OLD.completed_at IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a completed hand-off never changes');
END;

CREATE TRIGGER handoffs_keep_their_beginning
BEFORE UPDATE OF number, id, task_number, position, agent_name, from_agent, mode, started_at, reason, prompt,
                 from_number, waiter_number, trace_id, parent_span_id, is_invoked ON handoffs
BEGIN
    SELECT RAISE(ABORT, 'only the end of a hand-off can be written');
END;

-- Serves the count of hops of a chain.
CREATE INDEX handoffs_hops ON handoffs (task_number) WHERE from_number IS NOT NULL AND is_invoked = 1;

-- A hand-off moves on once. Serves the look-up of where it went.
CREATE UNIQUE INDEX handoffs_transferred ON handoffs (from_number) WHERE mode = 'transfer';

-- Serves the look-up of where a conversation went.
CREATE INDEX handoffs_moved ON handoffs (from_number) WHERE mode = 'session';

-- Serves the question whether an agent only waits, and so occupies no slot.
CREATE INDEX handoffs_waited_for ON handoffs (waiter_number) WHERE waiter_number IS NOT NULL AND completed_at IS NULL;

-- Serves the look-up of hand-offs by their trace.
CREATE INDEX handoffs_by_trace ON handoffs (trace_id) WHERE trace_id IS NOT NULL;

-- Serves the analytics since a time.
CREATE INDEX handoffs_by_start ON handoffs (started_at);

-- Messages of one chain stand in one order, whichever task they belong to.
CREATE TABLE new_messages (
    number          INTEGER PRIMARY KEY,
    -- The first task of the chain.
    chain_number    INTEGER NOT NULL REFERENCES tasks (number),
    task_number     INTEGER NOT NULL REFERENCES tasks (number),
    handoff_number  INTEGER REFERENCES handoffs (number),
    occurred_at     INTEGER NOT NULL,
    type            TEXT    NOT NULL CHECK (type = 'user_message' OR type = 'assistant_message' OR type = 'thinking' OR type = 'tool_call'
                                            OR type = 'tool_result' OR type = 'skill_load' OR type = 'subtask_created' OR type = 'error'
                                            OR type = 'status_change' OR type = 'handoff'),
    -- Whether it says what the hand-off's prompt says, which is not written twice.
    is_prompt       INTEGER NOT NULL DEFAULT 0 CHECK (is_prompt = 0 OR is_prompt = 1),
    -- Where control moved: from whom, to whom, with which variables.
    data            TEXT    CHECK (json_type(data) = 'object'),
    content         TEXT    NOT NULL CHECK (instr(content, char(0)) = 0),
    CHECK (is_prompt = 0 OR (handoff_number IS NOT NULL AND content = ''))
) STRICT;

INSERT INTO new_messages (number, chain_number, task_number, handoff_number, occurred_at, type, content)
SELECT m.number, coalesce(t.master_number, t.number), m.task_number, m.handoff_number, m.occurred_at, m.type, m.content
  FROM messages m
  JOIN tasks t ON t.number = m.task_number;

DROP TABLE messages;
ALTER TABLE new_messages RENAME TO messages;

-- Serves the conversation of a chain, in order.
CREATE INDEX messages_by_chain ON messages (chain_number);

CREATE TRIGGER messages_are_never_deleted BEFORE DELETE ON messages
BEGIN
    SELECT RAISE(ABORT, 'a conversation is append-only: a message is never deleted');
END;

CREATE TRIGGER messages_never_change BEFORE UPDATE ON messages
BEGIN
    SELECT RAISE(ABORT, 'a conversation is append-only: a message never changes');
END;

CREATE TABLE tools (
    name                  TEXT    NOT NULL PRIMARY KEY CHECK (length(name) <= 64 AND name GLOB '[a-z]*' AND name NOT GLOB '*[^a-z0-9_]*' AND instr(name, char(0)) = 0),
    target_agent          TEXT    NOT NULL REFERENCES agents (name),
    -- A list of names; NULL stands for all but the target.
    allowed_agents        TEXT    CHECK (json_type(allowed_agents) = 'array'),
    created_at            INTEGER NOT NULL,
    updated_at            INTEGER NOT NULL,
    description           TEXT    NOT NULL CHECK (instr(description, char(0)) = 0),
    context_variables     TEXT    NOT NULL CHECK (json_type(context_variables) = 'array'),
    handoff_instructions  TEXT    NOT NULL CHECK (instr(handoff_instructions, char(0)) = 0)
) STRICT;

-- A conversation that moves between agents; its task has the chain.
CREATE TABLE sessions (
    number       INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 200 AND instr(id, char(0)) = 0),
    task_number  INTEGER NOT NULL UNIQUE REFERENCES tasks (number),
    created_at   INTEGER NOT NULL
) STRICT;

-- What a session's hand-off has beside its row in `handoffs`. The rows of one session lie together.
CREATE TABLE session_handoffs (
    session_number    INTEGER NOT NULL REFERENCES sessions (number),
    handoff_number    INTEGER NOT NULL UNIQUE REFERENCES handoffs (number),
    from_agent        TEXT    NOT NULL,
    to_agent          TEXT    NOT NULL,
    harness_trace_id  TEXT    CHECK (instr(harness_trace_id, char(0)) = 0),
    history           TEXT    NOT NULL CHECK (substr(history, 1, 1) = '['),
    -- Serves the history of a session, in order, and its last hand-off.
    PRIMARY KEY (session_number, handoff_number)
) STRICT, WITHOUT ROWID;

-- Serves the count of a session's hand-offs, by their agents.
CREATE INDEX session_handoffs_by_agents ON session_handoffs (session_number, from_agent, to_agent);

-- Serves the look-up of hand-offs by the trace of their harness.
CREATE INDEX session_handoffs_by_trace ON session_handoffs (harness_trace_id) WHERE harness_trace_id IS NOT NULL;

CREATE TRIGGER session_handoffs_are_never_deleted BEFORE DELETE ON session_handoffs
BEGIN
    SELECT RAISE(ABORT, 'the history of a session only grows: a hand-off is never deleted');
END;

CREATE TRIGGER session_handoffs_never_change BEFORE UPDATE ON session_handoffs
BEGIN
    SELECT RAISE(ABORT, 'the history of a session only grows: a hand-off never changes');
END;

CREATE VIEW conversation AS
SELECT m.number,
       c.id AS master_task_id,
       t.id AS task_id,
       strftime('%Y-%m-%d %H:%M:%f', m.occurred_at / 1000.0, 'unixepoch') AS said_at,
       CASE WHEN m.data IS NOT NULL THEN m.data ->> 'fromAgent'
            WHEN m.is_prompt = 0 THEN h.agent_name
            WHEN h.mode = 'delegate' THEN h.from_agent END AS agent_name,
       m.type,
       CASE m.is_prompt WHEN 0 THEN m.content ELSE h.prompt END AS content
  FROM messages m
  JOIN tasks c ON c.number = m.chain_number
  JOIN tasks t ON t.number = m.task_number
  LEFT JOIN handoffs h ON h.number = m.handoff_number;

CREATE VIEW session_moves AS
SELECT s.id AS session_id,
       h.id AS handoff_id,
       strftime('%Y-%m-%d %H:%M:%f', h.started_at / 1000.0, 'unixepoch') AS moved_at,
       m.from_agent,
       m.to_agent,
       h.reason,
       h.prompt AS user_intent,
       json_array_length(m.history) AS messages,
       coalesce(h.outcome, 'open') AS outcome,
       m.harness_trace_id
  FROM session_handoffs m
  JOIN sessions s ON s.number = m.session_number
  JOIN handoffs h ON h.number = m.handoff_number;
