-- Delegations: the questions of runs to other agents, the waiting agents, and the tasks that stand for one delegated hand-off.

-- Whether the task was made for a delegated hand-off. Such a task ends with its hand-off, and stands under its parent.
ALTER TABLE tasks ADD COLUMN is_delegated INTEGER NOT NULL DEFAULT 0 CHECK (is_delegated = 0 OR is_delegated = 1);

-- The hand-off by which the waiting agent asked, if control has moved since; otherwise NULL, and the hand-off itself was asked for.
ALTER TABLE handoffs ADD COLUMN asked_number INTEGER REFERENCES handoffs (number);

-- Serves the look-up of the hand-off that answers in the end.
CREATE INDEX handoffs_answering ON handoffs (asked_number) WHERE asked_number IS NOT NULL;

-- A hand-off that the agent of another hand-off asked for.
CREATE TABLE delegations (
    handoff_number  INTEGER PRIMARY KEY REFERENCES handoffs (number),
    -- The hand-off whose agent asked.
    caller_number   INTEGER NOT NULL REFERENCES handoffs (number),
    -- The task that the agent named; the work may continue on a child of that task.
    task_number     INTEGER NOT NULL REFERENCES tasks (number),
    -- Whether the agent waits for the answer, or has waited.
    is_awaited      INTEGER NOT NULL CHECK (is_awaited = 0 OR is_awaited = 1),
    -- When the agent got the answer.
    delivered_at    INTEGER
) STRICT;

-- Serves the look-up of a call that is repeated, and of the answers that an agent has not got.
CREATE INDEX delegations_by_caller ON delegations (caller_number);

CREATE TRIGGER an_answer_is_delivered_once BEFORE UPDATE OF delivered_at ON delegations WHEN OLD.delivered_at IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'an answer is delivered once');
END;

CREATE TRIGGER delegations_are_never_deleted BEFORE DELETE ON delegations
BEGIN
    SELECT RAISE(ABORT, 'a delegation is never deleted');
END;

DROP TRIGGER completed_handoffs_never_change;
DROP TRIGGER handoffs_keep_their_beginning;

-- Until now, each step of a chain of moves says only which one was before it.
WITH RECURSIVE moved (number, asked_number) AS (
    SELECT h.number, f.number FROM handoffs h JOIN handoffs f ON f.number = h.from_number
     WHERE h.takes_control = 1 AND f.takes_control = 0 AND h.waiter_number = f.waiter_number
    UNION ALL
    SELECT h.number, moved.asked_number FROM moved JOIN handoffs h ON h.from_number = moved.number
     WHERE h.takes_control = 1
)
UPDATE handoffs SET asked_number = moved.asked_number FROM moved WHERE moved.number = handoffs.number;

CREATE TRIGGER completed_handoffs_never_change BEFORE UPDATE ON handoffs WHEN OLD.completed_at IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a completed hand-off never changes');
END;

CREATE TRIGGER handoffs_keep_their_beginning
BEFORE UPDATE OF number, id, task_number, position, agent_name, from_agent, mode, started_at, reason, prompt,
                 from_number, waiter_number, trace_id, parent_span_id, is_invoked, takes_control, asked_number ON handoffs
BEGIN
    SELECT RAISE(ABORT, 'only the end of a hand-off can be written');
END;

-- A child task of a delegation is named in an event of its parent, and so is each task that continues it.
WITH RECURSIVE delegated (number) AS (
    SELECT t.number FROM tasks t
      JOIN handoffs h ON h.task_number = t.number AND h.position = 1 AND h.mode = 'delegate' AND h.from_number IS NOT NULL
      JOIN events e ON e.task_number = t.parent_number AND e.type = 'child_task_created' AND e.data ->> 'taskId' = t.id
    UNION
    SELECT t.number FROM delegated
      JOIN tasks t ON t.parent_number = delegated.number
      JOIN handoffs h ON h.task_number = t.number AND h.position = 1 AND h.mode = 'transfer'
)
UPDATE tasks SET is_delegated = 1 WHERE number IN (SELECT number FROM delegated);

-- The agents that wait at the moment of the update.
INSERT INTO delegations (handoff_number, caller_number, task_number, is_awaited)
SELECT a.number, a.waiter_number, iif(t.is_delegated = 1, t.parent_number, t.number), 1
  FROM handoffs h
  JOIN handoffs a ON a.number = coalesce(h.asked_number, h.number)
  JOIN handoffs w ON w.number = a.waiter_number AND w.completed_at IS NULL
  JOIN tasks t ON t.number = a.task_number
 WHERE h.completed_at IS NULL AND a.mode = 'delegate';

-- The delegated tasks whose hand-off has ended wait for nobody. Each change of a status has its event.
INSERT INTO events (task_number, occurred_at, type, data)
SELECT t.number, strftime('%s', 'now') * 1000, 'status_changed',
       json_object('from', t.status, 'to', iif(h.outcome = 'completed', 'completed', 'failed'))
  FROM tasks t
  JOIN handoffs h ON h.task_number = t.number
   AND h.position = (SELECT max(position) FROM handoffs WHERE task_number = t.number)
 WHERE t.is_delegated = 1 AND t.status = 'waiting' AND h.completed_at IS NOT NULL
 ORDER BY t.number;

UPDATE tasks
   SET status = iif(h.outcome = 'completed', 'completed', 'failed'),
       failure_message = iif(h.outcome = 'completed', NULL, substr(h.output, 1, 1000))
  FROM handoffs h
 WHERE h.task_number = tasks.number
   AND h.position = (SELECT max(position) FROM handoffs WHERE task_number = tasks.number)
   AND tasks.is_delegated = 1 AND tasks.status = 'waiting' AND h.completed_at IS NOT NULL;

DROP VIEW board;

-- A family stands together: the first task, then those below it.
CREATE VIEW board AS
SELECT t.id,
       t.status,
       h.agent_name AS current_agent,
       (SELECT count(*) FROM handoffs c WHERE c.task_number = t.number) AS handoffs,
       strftime('%Y-%m-%d %H:%M:%f', t.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', t.updated_at / 1000.0, 'unixepoch') AS updated_at,
       t.description,
       p.id AS parent_id,
       t.is_delegated AS delegated
  FROM tasks t
  LEFT JOIN tasks p ON p.number = t.parent_number
  LEFT JOIN handoffs h ON h.task_number = t.number AND h.completed_at IS NULL
 ORDER BY coalesce(t.master_number, t.number), t.number;

-- Agents that wait, each with the hand-off that it waits for.
CREATE VIEW waits AS
SELECT w.id AS waiting_handoff_id,
       w.agent_name AS waiting_agent,
       h.id AS handoff_id,
       h.agent_name,
       t.id AS task_id,
       strftime('%Y-%m-%d %H:%M:%f', h.started_at / 1000.0, 'unixepoch') AS since
  FROM handoffs h
  JOIN delegations d ON d.handoff_number = coalesce(h.asked_number, h.number) AND d.is_awaited = 1
  JOIN handoffs w ON w.number = h.waiter_number
  JOIN tasks t ON t.number = h.task_number
 WHERE h.completed_at IS NULL
 ORDER BY h.number;
