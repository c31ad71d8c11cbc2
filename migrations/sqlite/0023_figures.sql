-- Figures of hand-offs: whose work a routed one continues, which ones lost control, and when an agent first said something.

DROP TRIGGER completed_handoffs_never_change;
DROP TRIGGER handoffs_keep_their_beginning;

-- A routed hand-off continues the work of the dependency that had ended last when it began. It stays unknown where a dependency was
-- replaced since.
UPDATE handoffs
   SET from_agent = (SELECT f.agent_name FROM task_dependencies d
                       JOIN handoffs f ON f.task_number = d.depends_on_number
                      WHERE d.task_number = handoffs.task_number AND f.completed_at <= handoffs.started_at
                      ORDER BY f.completed_at DESC, f.number DESC LIMIT 1)
 WHERE mode = 'route' AND from_agent IS NULL;

CREATE TRIGGER completed_handoffs_never_change BEFORE UPDATE ON handoffs WHEN OLD.completed_at IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a completed hand-off never changes');
END;

CREATE TRIGGER handoffs_keep_their_beginning
BEFORE UPDATE OF number, id, task_number, position, agent_name, from_agent, mode, started_at, reason, prompt,
                 from_number, waiter_number, trace_id, parent_span_id, is_invoked, takes_control, asked_number,
                 counted_from_number ON handoffs
BEGIN
    SELECT RAISE(ABORT, 'only the end of a hand-off can be written');
END;

-- Serves the count of hand-offs whose agent was stopped because control moved on.
CREATE INDEX handoffs_taking_control ON handoffs (from_number) WHERE takes_control = 1;

-- Serves the time from the start of a run to its first message.
CREATE INDEX messages_of_agents ON messages (handoff_number, occurred_at) WHERE type = 'assistant_message';
