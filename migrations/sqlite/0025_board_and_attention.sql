-- The board, and the list of everything that waits for a person.

-- Serves a column of the board, last changed first.
CREATE INDEX tasks_on_board ON tasks (status, updated_at) WHERE is_delegated = 0;

-- Serves the last message that an agent wrote on a task.
CREATE INDEX messages_said_on_tasks ON messages (task_number) WHERE type = 'assistant_message';

-- When the last hand-off of the task failed, until a later hand-off or another status answers the failure. Triggers keep it. The
-- failure of a request's hand-off shows in its request.
ALTER TABLE tasks ADD COLUMN failed_at INTEGER;

UPDATE tasks
   SET failed_at = (SELECT h.completed_at FROM handoffs h
                     WHERE h.task_number = tasks.number AND h.mode <> 'request'
                       AND (h.outcome = 'failed' OR h.outcome = 'timed_out' OR h.outcome = 'interrupted')
                       AND h.position = (SELECT max(l.position) FROM handoffs l WHERE l.task_number = tasks.number))
 WHERE status = 'active' OR status = 'waiting';

CREATE TRIGGER a_failed_handoff_is_noted AFTER UPDATE OF outcome ON handoffs
WHEN NEW.mode <> 'request' AND (NEW.outcome = 'failed' OR NEW.outcome = 'timed_out' OR NEW.outcome = 'interrupted')
BEGIN
    UPDATE tasks SET failed_at = NEW.completed_at WHERE number = NEW.task_number AND (status = 'active' OR status = 'waiting');
END;

-- An imported hand-off may have ended already.
CREATE TRIGGER a_later_handoff_answers_a_failure AFTER INSERT ON handoffs
BEGIN
    UPDATE tasks
       SET failed_at = CASE WHEN NEW.mode <> 'request'
                             AND (NEW.outcome = 'failed' OR NEW.outcome = 'timed_out' OR NEW.outcome = 'interrupted')
                             AND (status = 'active' OR status = 'waiting') THEN NEW.completed_at END
     WHERE number = NEW.task_number AND (failed_at IS NOT NULL OR NEW.outcome IS NOT NULL);
END;

CREATE TRIGGER a_status_answers_a_failure AFTER UPDATE OF status ON tasks
WHEN NEW.failed_at IS NOT NULL AND NEW.status <> 'active' AND NEW.status <> 'waiting'
BEGIN
    UPDATE tasks SET failed_at = NULL WHERE number = NEW.number;
END;

-- The indexes below serve the list of everything that waits for a person, newest first: one index for each kind.
CREATE INDEX tasks_failed ON tasks (failed_at) WHERE failed_at IS NOT NULL AND is_blocked = 0;
CREATE INDEX tasks_blocked ON tasks (updated_at) WHERE is_blocked = 1 AND increment_number IS NULL;
CREATE INDEX increments_blocked ON increments (updated_at) WHERE state = 'blocked';
CREATE INDEX requests_in_needs ON requests (is_stuck, updated_at) WHERE state = 'needs' AND withdrawn_at IS NULL;
CREATE INDEX mail_recipients_unread ON mail_recipients (recipient, mail_number) WHERE read_at IS NULL;
