-- Facts that were read from sentences until now have columns of their own.

-- Whether control was taken from the agent of `from_number`, which still had it: by a tool, or by moving a conversation.
-- Until now a conversation was taken if the earlier hand-off ended in the same moment with the words 'Routed to <agent>'.
ALTER TABLE handoffs ADD COLUMN takes_control INTEGER NOT NULL DEFAULT 0 CHECK (takes_control = 0 OR takes_control = 1);

DROP TRIGGER completed_handoffs_never_change;
DROP TRIGGER handoffs_keep_their_beginning;

UPDATE handoffs SET takes_control = 1
 WHERE mode = 'transfer'
    OR (mode = 'session'
        AND EXISTS (SELECT 1 FROM handoffs h
                     WHERE h.number = handoffs.from_number AND h.completed_at = handoffs.started_at
                       AND h.output = 'Routed to ' || handoffs.agent_name));

CREATE TRIGGER completed_handoffs_never_change BEFORE UPDATE ON handoffs WHEN OLD.completed_at IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a completed hand-off never changes');
END;

CREATE TRIGGER handoffs_keep_their_beginning
BEFORE UPDATE OF number, id, task_number, position, agent_name, from_agent, mode, started_at, reason, prompt,
                 from_number, waiter_number, trace_id, parent_span_id, is_invoked, takes_control ON handoffs
BEGIN
    SELECT RAISE(ABORT, 'only the end of a hand-off can be written');
END;

-- What the router waits for before it goes on with a task: an agent that suits, or a person. `waiting_reason` says it in words.
ALTER TABLE tasks ADD COLUMN waits_for TEXT CHECK (waits_for = 'agent' OR waits_for = 'person');

UPDATE tasks SET waits_for = CASE is_blocked WHEN 1 THEN 'person' ELSE 'agent' END WHERE waiting_reason IS NOT NULL;
