-- The delivery of queued messages: the prompt of which hand-off has a message, and since when.
ALTER TABLE queue_messages ADD COLUMN delivered_at INTEGER;
ALTER TABLE queue_messages ADD COLUMN delivered_handoff_number INTEGER REFERENCES handoffs (number)
    CHECK (delivered_handoff_number IS NULL OR delivered_at IS NOT NULL);

-- Serves the messages that wait for the next agent on a task.
CREATE INDEX queue_messages_pending ON queue_messages (task_number) WHERE delivered_at IS NULL;

-- Serves the messages in the prompt of a hand-off.
CREATE INDEX queue_messages_by_delivery ON queue_messages (delivered_handoff_number) WHERE delivered_handoff_number IS NOT NULL;
