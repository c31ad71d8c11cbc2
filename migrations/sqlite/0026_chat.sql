-- Chat: messages of a person that start a hand-off when the open one has ended.

-- Whether the message is more than a note for the next agent: it starts a hand-off by itself.
ALTER TABLE queue_messages ADD COLUMN starts_handoff INTEGER NOT NULL DEFAULT 0 CHECK (starts_handoff = 0 OR starts_handoff = 1);
-- Whether the message is in the prompt of its hand-off itself, and not only quoted there.
ALTER TABLE queue_messages ADD COLUMN is_prompt INTEGER NOT NULL DEFAULT 0
    CHECK (is_prompt = 0 OR (is_prompt = 1 AND starts_handoff = 1 AND delivered_handoff_number IS NOT NULL));

CREATE TRIGGER a_delivered_message_is_never_deleted BEFORE DELETE ON queue_messages WHEN OLD.delivered_at IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a message is taken back before it is delivered, or never');
END;

-- Whether the hand-off continues a conversation with a person, so that its agent must know what was said on its own task.
ALTER TABLE handoffs ADD COLUMN is_chat INTEGER NOT NULL DEFAULT 0 CHECK (is_chat = 0 OR is_chat = 1);

DROP TRIGGER handoffs_keep_their_beginning;

CREATE TRIGGER handoffs_keep_their_beginning
BEFORE UPDATE OF number, id, task_number, position, agent_name, from_agent, mode, started_at, reason, prompt,
                 from_number, waiter_number, trace_id, parent_span_id, is_invoked, takes_control, asked_number,
                 counted_from_number, is_chat ON handoffs
BEGIN
    SELECT RAISE(ABORT, 'only the end of a hand-off can be written');
END;
