-- What running agents needs: how an agent is started, who asked from inside a run, what was said on the way.

-- How an agent is started. NULL means that the provider or the server decides.
ALTER TABLE agents ADD COLUMN model TEXT;
ALTER TABLE agents ADD COLUMN program TEXT;
ALTER TABLE agents ADD COLUMN arguments TEXT NOT NULL DEFAULT '[]' CHECK (json_type(arguments) = 'array');
ALTER TABLE agents ADD COLUMN environment TEXT NOT NULL DEFAULT '{}' CHECK (json_type(environment) = 'object');
ALTER TABLE agents ADD COLUMN output_form TEXT NOT NULL DEFAULT 'all';
ALTER TABLE agents ADD COLUMN max_seconds INTEGER CHECK (max_seconds > 0);
ALTER TABLE agents ADD COLUMN idle_seconds INTEGER CHECK (idle_seconds > 0);

-- The task from which this one was handed on, while an agent worked on it.
ALTER TABLE tasks ADD COLUMN parent_number INTEGER REFERENCES tasks (number);

-- Serves the children of a task: who waits for whom, and how deep a chain is.
CREATE INDEX tasks_by_parent ON tasks (parent_number) WHERE parent_number IS NOT NULL;

-- Lower runs first.
ALTER TABLE runs ADD COLUMN priority INTEGER NOT NULL DEFAULT 100;
-- The provider's session, which `resume` continues.
ALTER TABLE runs ADD COLUMN session_id TEXT;
-- The session that this run continues.
ALTER TABLE runs ADD COLUMN resumes TEXT;
-- SHA-256 of the token that the run's own process shows. The token itself is nowhere.
ALTER TABLE runs ADD COLUMN token_hash BLOB CHECK (length(token_hash) = 32);
-- The data directory whose server took it. A copy of the database elsewhere knows by this that the run is not its own.
ALTER TABLE runs ADD COLUMN claimed_in TEXT;
-- How much of the standard output has become messages.
ALTER TABLE runs ADD COLUMN followed_bytes INTEGER NOT NULL DEFAULT 0 CHECK (followed_bytes >= 0);

-- Serves the choice of the next run.
CREATE INDEX runs_queue ON runs (priority) WHERE state = 'queued';

-- Serves the look-up of a token.
CREATE UNIQUE INDEX runs_by_token ON runs (token_hash) WHERE token_hash IS NOT NULL;

CREATE TABLE messages (
    number          INTEGER PRIMARY KEY,
    task_number     INTEGER NOT NULL REFERENCES tasks (number),
    handoff_number  INTEGER REFERENCES handoffs (number),
    occurred_at     INTEGER NOT NULL,
    type            TEXT    NOT NULL CHECK (type = 'user_message' OR type = 'assistant_message' OR type = 'thinking' OR type = 'tool_call'
                                            OR type = 'tool_result' OR type = 'skill_load' OR type = 'subtask_created' OR type = 'error'
                                            OR type = 'status_change' OR type = 'handoff'),
    content         TEXT    NOT NULL
) STRICT;

-- Serves the conversation of a task, in order.
CREATE INDEX messages_by_task ON messages (task_number);
