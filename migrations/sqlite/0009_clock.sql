-- The relation of the ledger's time to the time since boot, which shows after a restart whether the system's clock was set forward.
ALTER TABLE installation ADD COLUMN clock_boot_id TEXT CHECK (instr(clock_boot_id, char(0)) = 0);

-- The ledger's time minus the time since boot, in milliseconds.
ALTER TABLE installation ADD COLUMN clock_offset INTEGER;
