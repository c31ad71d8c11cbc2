-- Since when the program of a run prints nothing but errors, and the last of them. NULL again when it continues.
ALTER TABLE runs ADD COLUMN failing_since INTEGER;
ALTER TABLE runs ADD COLUMN last_error TEXT CHECK (instr(last_error, char(0)) = 0);
-- The tools that the agent tried to use and was not allowed to, as a JSON list.
ALTER TABLE runs ADD COLUMN denied_tools TEXT NOT NULL DEFAULT '[]' CHECK (json_type(denied_tools) = 'array');
