-- What routing needs: roles and skills of agents, what a task needs and waits for, increments, and reports.

-- What an agent offers.
ALTER TABLE agents ADD COLUMN roles TEXT NOT NULL DEFAULT '[]' CHECK (json_type(roles) = 'array');
ALTER TABLE agents ADD COLUMN skills TEXT NOT NULL DEFAULT '[]' CHECK (json_type(skills) = 'array');
-- How many minutes a run may take at most, whatever else is allowed.
ALTER TABLE agents ADD COLUMN max_session_minutes INTEGER CHECK (max_session_minutes > 0);
ALTER TABLE agents ADD COLUMN responsibilities TEXT NOT NULL DEFAULT '' CHECK (instr(responsibilities, char(0)) = 0);

-- When the specialists were planted: once, so that deleted ones stay deleted.
ALTER TABLE installation ADD COLUMN specialists_planted_at INTEGER;

-- A piece of work that is implemented, tested, fixed and verified by different agents.
CREATE TABLE increments (
    number        INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 100 AND id NOT GLOB '*[^A-Za-z0-9._-]*' AND id NOT GLOB '.*' AND instr(id, char(0)) = 0),
    state         TEXT    NOT NULL CHECK (state = 'active' OR state = 'done' OR state = 'blocked'),
    -- How often it was given to a test.
    round         INTEGER NOT NULL CHECK (round >= 1),
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    -- Why it is blocked.
    blocked_by    TEXT    CHECK (instr(blocked_by, char(0)) = 0),
    title         TEXT    NOT NULL CHECK (title <> '' AND instr(title, char(0)) = 0),
    test_command  TEXT    CHECK (instr(test_command, char(0)) = 0),
    description   TEXT    NOT NULL CHECK (instr(description, char(0)) = 0),
    CHECK ((state = 'blocked') = (blocked_by IS NOT NULL))
) STRICT;

CREATE TRIGGER increments_are_never_deleted BEFORE DELETE ON increments
BEGIN
    SELECT RAISE(ABORT, 'an increment is never deleted');
END;

-- What a task needs. A task with a role is given to an agent by the router.
ALTER TABLE tasks ADD COLUMN agent_role TEXT CHECK (length(agent_role) <= 64 AND agent_role GLOB '[a-z]*' AND agent_role NOT GLOB '*[^a-z0-9-]*' AND instr(agent_role, char(0)) = 0);
ALTER TABLE tasks ADD COLUMN specialist_tags TEXT NOT NULL DEFAULT '[]' CHECK (json_type(specialist_tags) = 'array');
ALTER TABLE tasks ADD COLUMN estimated_minutes INTEGER CHECK (estimated_minutes > 0);
-- Lower goes first.
ALTER TABLE tasks ADD COLUMN priority INTEGER NOT NULL DEFAULT 2 CHECK (priority BETWEEN 0 AND 4);
ALTER TABLE tasks ADD COLUMN agent_context TEXT NOT NULL DEFAULT '{}' CHECK (json_type(agent_context) = 'object');
ALTER TABLE tasks ADD COLUMN handoff_instructions TEXT NOT NULL DEFAULT '{}' CHECK (json_type(handoff_instructions) = 'object');
-- Whether the agent that works on it has set its context itself.
ALTER TABLE tasks ADD COLUMN is_context_own INTEGER NOT NULL DEFAULT 0 CHECK (is_context_own = 0 OR is_context_own = 1);
-- How many of its dependencies are not met. Triggers keep it, so that whether a task is ready is a matter of its own row.
ALTER TABLE tasks ADD COLUMN unmet INTEGER NOT NULL DEFAULT 0 CHECK (unmet >= 0);
-- How often the router has given it to an agent.
ALTER TABLE tasks ADD COLUMN route_attempts INTEGER NOT NULL DEFAULT 0 CHECK (route_attempts >= 0);
-- Why the router does not go on with it: nobody suits (then it is pending), or a person must look (then it is blocked).
ALTER TABLE tasks ADD COLUMN waiting_reason TEXT CHECK (instr(waiting_reason, char(0)) = 0);
-- Whether nobody suits, as far as is known. It is asked again when an agent changes.
ALTER TABLE tasks ADD COLUMN is_unsuited INTEGER NOT NULL DEFAULT 0 CHECK (is_unsuited = 0 OR (is_unsuited = 1 AND waiting_reason IS NOT NULL));
ALTER TABLE tasks ADD COLUMN is_blocked INTEGER NOT NULL DEFAULT 0 CHECK (is_blocked = 0 OR (is_blocked = 1 AND waiting_reason IS NOT NULL));
-- Whether its agent was asked again for the report that it owed.
ALTER TABLE tasks ADD COLUMN is_asked_again INTEGER NOT NULL DEFAULT 0 CHECK (is_asked_again = 0 OR is_asked_again = 1);
-- Which part of which increment it is.
ALTER TABLE tasks ADD COLUMN increment_number INTEGER REFERENCES increments (number);
ALTER TABLE tasks ADD COLUMN stage TEXT CHECK (stage = 'implementation' OR stage = 'test' OR stage = 'fix' OR stage = 'verify');
ALTER TABLE tasks ADD COLUMN round INTEGER CHECK (round >= 1);

-- Serves the list of tasks that are ready.
CREATE INDEX tasks_ready ON tasks (priority) WHERE status = 'pending' AND unmet = 0;

-- Serves the list of tasks that are ready for an agent.
CREATE INDEX tasks_ready_by_role ON tasks (agent_role, priority) WHERE status = 'pending' AND unmet = 0 AND agent_role IS NOT NULL;

-- Serves the choice of the next task that the router gives to an agent.
CREATE INDEX tasks_to_route ON tasks (priority) WHERE status = 'pending' AND unmet = 0 AND agent_role IS NOT NULL AND is_unsuited = 0;

-- Serves the tasks that wait for an agent who suits, or for a person.
CREATE INDEX tasks_held ON tasks (number) WHERE waiting_reason IS NOT NULL;

-- Serves the list of tasks with ?agentRole=, oldest first.
CREATE INDEX tasks_by_role ON tasks (agent_role) WHERE agent_role IS NOT NULL;

-- Serves the tasks of an increment, in order.
CREATE INDEX tasks_by_increment ON tasks (increment_number) WHERE increment_number IS NOT NULL;

-- Serves the list of tasks with ?tags=. The tags themselves are in `tasks.specialist_tags`.
CREATE TABLE task_tags (
    tag          TEXT    NOT NULL,
    task_number  INTEGER NOT NULL REFERENCES tasks (number),
    PRIMARY KEY (tag, task_number)
) STRICT, WITHOUT ROWID;

-- Keeps `task_tags` as `tasks.specialist_tags` is.
CREATE TRIGGER task_tags_follow AFTER UPDATE OF specialist_tags ON tasks WHEN OLD.specialist_tags <> NEW.specialist_tags
BEGIN
    DELETE FROM task_tags WHERE task_number = NEW.number AND tag IN (SELECT value FROM json_each(OLD.specialist_tags));
    INSERT OR IGNORE INTO task_tags (tag, task_number) SELECT value, NEW.number FROM json_each(NEW.specialist_tags);
END;

CREATE TRIGGER task_tags_begin AFTER INSERT ON tasks WHEN NEW.specialist_tags <> '[]'
BEGIN
    INSERT OR IGNORE INTO task_tags (tag, task_number) SELECT value, NEW.number FROM json_each(NEW.specialist_tags);
END;

-- What a task waits for, and how that must end.
CREATE TABLE task_dependencies (
    task_number        INTEGER NOT NULL REFERENCES tasks (number),
    -- Their order.
    position           INTEGER NOT NULL CHECK (position >= 1),
    depends_on_number  INTEGER NOT NULL REFERENCES tasks (number) CHECK (depends_on_number <> task_number),
    outcome            TEXT    NOT NULL CHECK (outcome = 'completed' OR outcome = 'failed' OR outcome = 'any'),
    PRIMARY KEY (task_number, position),
    UNIQUE (task_number, depends_on_number)
) STRICT, WITHOUT ROWID;

-- Serves the question who waits for a task.
CREATE INDEX task_dependencies_by_target ON task_dependencies (depends_on_number, task_number, outcome);

-- A dependency is met when its task has ended in the way that is asked for. These three triggers keep `tasks.unmet`: whoever
-- writes, whether a task is ready is right in the same transaction.
CREATE TRIGGER task_dependencies_count_new AFTER INSERT ON task_dependencies
BEGIN
    UPDATE tasks SET unmet = unmet + 1
     WHERE number = NEW.task_number
       AND NOT EXISTS (SELECT 1 FROM tasks d WHERE d.number = NEW.depends_on_number
                          AND ((d.status = 'completed' AND NEW.outcome <> 'failed') OR (d.status = 'failed' AND NEW.outcome <> 'completed')));
END;

CREATE TRIGGER task_dependencies_count_gone AFTER DELETE ON task_dependencies
BEGIN
    UPDATE tasks SET unmet = unmet - 1
     WHERE number = OLD.task_number
       AND NOT EXISTS (SELECT 1 FROM tasks d WHERE d.number = OLD.depends_on_number
                          AND ((d.status = 'completed' AND OLD.outcome <> 'failed') OR (d.status = 'failed' AND OLD.outcome <> 'completed')));
END;

CREATE TRIGGER task_dependencies_never_change BEFORE UPDATE ON task_dependencies
BEGIN
    SELECT RAISE(ABORT, 'a dependency is replaced, not changed');
END;

CREATE TRIGGER tasks_meet_dependencies AFTER UPDATE OF status ON tasks
WHEN OLD.status <> NEW.status AND (OLD.status = 'completed' OR OLD.status = 'failed' OR NEW.status = 'completed' OR NEW.status = 'failed')
BEGIN
    UPDATE tasks
       SET unmet = unmet
                 + ((OLD.status = 'completed' AND d.outcome <> 'failed') OR (OLD.status = 'failed' AND d.outcome <> 'completed'))
                 - ((NEW.status = 'completed' AND d.outcome <> 'failed') OR (NEW.status = 'failed' AND d.outcome <> 'completed'))
      FROM task_dependencies d
     WHERE d.depends_on_number = NEW.number AND tasks.number = d.task_number;
END;

-- What the agent of a hand-off says of its work.
CREATE TABLE reports (
    handoff_number  INTEGER PRIMARY KEY REFERENCES handoffs (number),
    result          TEXT    NOT NULL CHECK (result = 'passed' OR result = 'failed' OR result = 'blocked'),
    reported_at     INTEGER NOT NULL,
    summary         TEXT    NOT NULL CHECK (instr(summary, char(0)) = 0),
    -- Any JSON value; NULL if there are none.
    details         TEXT    CHECK (json_valid(details))
) STRICT;

CREATE VIEW ready_tasks AS
SELECT t.id,
       t.priority,
       t.agent_role,
       t.specialist_tags,
       t.waiting_reason,
       strftime('%Y-%m-%d %H:%M:%f', t.created_at / 1000.0, 'unixepoch') AS created_at,
       t.description
  FROM tasks t
 WHERE t.status = 'pending' AND t.unmet = 0
 ORDER BY t.priority, t.number;

CREATE VIEW increment_tasks AS
SELECT i.id AS increment_id,
       i.title,
       i.state,
       i.round AS increment_round,
       t.stage,
       t.round,
       t.id AS task_id,
       t.status,
       t.route_attempts,
       h.agent_name AS current_agent,
       t.waiting_reason
  FROM increments i
  JOIN tasks t ON t.increment_number = i.number
  LEFT JOIN handoffs h ON h.task_number = t.number AND h.completed_at IS NULL;
