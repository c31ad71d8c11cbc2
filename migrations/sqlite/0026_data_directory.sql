-- Where the data directory was when a server last started in it. A server that finds itself elsewhere moves the default workspaces along.

ALTER TABLE installation ADD COLUMN data_dir TEXT;
