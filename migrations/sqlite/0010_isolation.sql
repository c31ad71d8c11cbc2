-- The isolation of an agent's runs. NULL leaves the choice to the server (`--isolation`).
ALTER TABLE agents ADD COLUMN isolation TEXT CHECK (isolation = 'none' OR isolation = 'masked');

-- The isolation with which a run was started. NULL until then.
ALTER TABLE runs ADD COLUMN isolation TEXT CHECK (isolation = 'none' OR isolation = 'masked');
