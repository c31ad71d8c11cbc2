-- Counts of depth, hops and bounces: they are limits for agents, and start again where a person or a program asks.

-- The hand-off from which the limits count: the last one before it that no agent asked for. NULL for that one itself.
ALTER TABLE handoffs ADD COLUMN counted_from_number INTEGER REFERENCES handoffs (number);

-- The same for a task that an agent created: the router counts on from there. NULL if no agent did.
ALTER TABLE tasks ADD COLUMN counted_from_number INTEGER REFERENCES handoffs (number);

-- Whether an agent asked was not recorded until now, so every hand-off and task before this starts a count of its own.

-- Serves the count of hops.
DROP INDEX handoffs_hops;
CREATE INDEX handoffs_hops ON handoffs (counted_from_number)
    WHERE counted_from_number IS NOT NULL AND from_number IS NOT NULL AND is_invoked = 1;

DROP TRIGGER handoffs_keep_their_beginning;

CREATE TRIGGER handoffs_keep_their_beginning
BEFORE UPDATE OF number, id, task_number, position, agent_name, from_agent, mode, started_at, reason, prompt,
                 from_number, waiter_number, trace_id, parent_span_id, is_invoked, takes_control, asked_number,
                 counted_from_number ON handoffs
BEGIN
    SELECT RAISE(ABORT, 'only the end of a hand-off can be written');
END;
