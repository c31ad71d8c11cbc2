-- Shared plans and files: a task that stands for another task has the plan and the files of that task.

-- The task that holds the plan of this one; NULL if the plan is its own. The holder was created first, and holds its plan itself.
ALTER TABLE tasks ADD COLUMN plan_number INTEGER REFERENCES tasks (number)
    CHECK (plan_number IS NULL OR (plan_number < number AND summary IS NULL));

-- Serves the tasks of one plan.
CREATE INDEX tasks_by_plan ON tasks (plan_number) WHERE plan_number IS NOT NULL;

CREATE TRIGGER a_shared_plan_stays_shared BEFORE UPDATE OF plan_number ON tasks WHEN NEW.plan_number IS NOT OLD.plan_number
BEGIN
    SELECT RAISE(ABORT, 'the task that holds a plan is chosen once');
END;

-- An attachment that a task has from another one uses the bytes of that one: they are in
-- uploads/<id of stored_task>/<stored_id>/<filename>. Both are NULL if the bytes are in the folder of its own task and id.
ALTER TABLE attachments ADD COLUMN stored_task_number INTEGER REFERENCES tasks (number);
ALTER TABLE attachments ADD COLUMN stored_id TEXT CHECK ((stored_id IS NULL) = (stored_task_number IS NULL));

-- Serves the question whether bytes are still used.
CREATE INDEX attachments_by_bytes ON attachments (stored_id) WHERE stored_id IS NOT NULL;
