-- Mail: what agents, people and the router write to each other, and who has got it.

CREATE TABLE mail (
    number             INTEGER PRIMARY KEY,
    id                 TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 100 AND id NOT GLOB '*[^A-Za-z0-9._-]*' AND id NOT GLOB '.*' AND instr(id, char(0)) = 0),
    type               TEXT    NOT NULL CHECK (type = 'task_handoff' OR type = 'test_failure_report' OR type = 'fix_complete' OR type = 'verification_request' OR type = 'assignment' OR type = 'note'),
    -- An agent, `operator`, `router` or `anonymous`.
    sender             TEXT    NOT NULL COLLATE NOCASE CHECK (length(sender) BETWEEN 1 AND 100 AND sender NOT GLOB '*[^A-Za-z0-9._-]*' AND sender NOT GLOB '.*' AND instr(sender, char(0)) = 0),
    -- Whether a token says so.
    is_verified        INTEGER NOT NULL CHECK (is_verified = 0 OR is_verified = 1),
    -- As it was addressed; a role stands for those who had it then, who are in `mail_recipients`.
    addressed_to       TEXT    NOT NULL CHECK (json_type(addressed_to) = 'array' AND addressed_to <> '[]'),
    addressed_cc       TEXT    NOT NULL CHECK (json_type(addressed_cc) = 'array'),
    -- The id of the mail that began the thread, or a name that somebody chose.
    thread_id          TEXT    NOT NULL CHECK (length(thread_id) BETWEEN 1 AND 100 AND thread_id NOT GLOB '*[^A-Za-z0-9._-]*' AND thread_id NOT GLOB '.*' AND instr(thread_id, char(0)) = 0),
    task_number        INTEGER REFERENCES tasks (number),
    -- The hand-off that it came with.
    handoff_number     INTEGER REFERENCES handoffs (number),
    handoff_type       TEXT    CHECK (handoff_type <> '' AND instr(handoff_type, char(0)) = 0),
    previous_attempts  INTEGER NOT NULL CHECK (previous_attempts >= 0),
    urgency            TEXT    NOT NULL CHECK (urgency = 'low' OR urgency = 'normal' OR urgency = 'high' OR urgency = 'urgent'),
    -- Until when an acknowledgement is wanted; NULL if none is.
    ack_due_at         INTEGER,
    sent_at            INTEGER NOT NULL,
    subject            TEXT    NOT NULL CHECK (subject <> '' AND instr(subject, char(0)) = 0),
    context            TEXT    NOT NULL CHECK (json_type(context) = 'object'),
    body               TEXT    NOT NULL CHECK (instr(body, char(0)) = 0)
) STRICT;

-- Serves the mail of a thread, in order.
CREATE INDEX mail_by_thread ON mail (thread_id);

-- Serves the mail about a task, in order.
CREATE INDEX mail_by_task ON mail (task_number) WHERE task_number IS NOT NULL;

CREATE TRIGGER mail_is_never_deleted BEFORE DELETE ON mail
BEGIN
    SELECT RAISE(ABORT, 'mail is never deleted');
END;

CREATE TRIGGER mail_never_changes BEFORE UPDATE ON mail
BEGIN
    SELECT RAISE(ABORT, 'mail never changes: send another one');
END;

-- Who gets a mail, and what became of it there.
CREATE TABLE mail_recipients (
    number                    INTEGER PRIMARY KEY,
    mail_number               INTEGER NOT NULL REFERENCES mail (number),
    -- An agent, or `operator`.
    recipient                 TEXT    NOT NULL COLLATE NOCASE CHECK (length(recipient) BETWEEN 1 AND 100 AND recipient NOT GLOB '*[^A-Za-z0-9._-]*' AND recipient NOT GLOB '.*' AND instr(recipient, char(0)) = 0),
    is_cc                     INTEGER NOT NULL CHECK (is_cc = 0 OR is_cc = 1),
    -- Until when this one is to acknowledge it; NULL if that is not wanted.
    ack_due_at                INTEGER,
    -- When it was put into a prompt first.
    delivered_at              INTEGER,
    read_at                   INTEGER,
    acknowledged_at           INTEGER,
    -- The last hand-off into whose prompt it was put. If that is completed, it has been read.
    delivered_handoff_number  INTEGER REFERENCES handoffs (number),
    UNIQUE (mail_number, recipient),
    CHECK (is_cc = 0 OR ack_due_at IS NULL),
    CHECK (acknowledged_at IS NULL OR read_at IS NOT NULL),
    CHECK (delivered_handoff_number IS NULL OR delivered_at IS NOT NULL)
) STRICT;

-- Serves all mail of a recipient, in order.
CREATE INDEX mail_recipients_by_recipient ON mail_recipients (recipient, mail_number);

-- Serves what a recipient has not read, and what else waits for it.
CREATE INDEX mail_recipients_pending ON mail_recipients (recipient, mail_number)
 WHERE read_at IS NULL OR (ack_due_at IS NOT NULL AND acknowledged_at IS NULL);

-- Serves the acknowledgements that are overdue.
CREATE INDEX mail_recipients_owing ON mail_recipients (ack_due_at) WHERE ack_due_at IS NOT NULL AND acknowledged_at IS NULL;

-- Serves the end of a hand-off: what was put into its prompt.
CREATE INDEX mail_recipients_by_delivery ON mail_recipients (delivered_handoff_number) WHERE delivered_handoff_number IS NOT NULL;

CREATE TRIGGER mail_recipients_are_never_deleted BEFORE DELETE ON mail_recipients
BEGIN
    SELECT RAISE(ABORT, 'who gets a mail is never deleted');
END;

CREATE TRIGGER mail_recipients_keep_what_happened BEFORE UPDATE ON mail_recipients
WHEN NEW.number IS NOT OLD.number
  OR NEW.mail_number IS NOT OLD.mail_number
  OR NEW.recipient IS NOT OLD.recipient
  OR NEW.is_cc IS NOT OLD.is_cc
  OR NEW.ack_due_at IS NOT OLD.ack_due_at
  OR (OLD.delivered_at IS NOT NULL AND NEW.delivered_at IS NOT OLD.delivered_at)
  OR (OLD.read_at IS NOT NULL AND NEW.read_at IS NOT OLD.read_at)
  OR (OLD.acknowledged_at IS NOT NULL AND NEW.acknowledged_at IS NOT OLD.acknowledged_at)
BEGIN
    SELECT RAISE(ABORT, 'what became of a mail is written once: a time never changes');
END;

-- Serves the search for words. It has an index alone; the texts are in `mail`.
CREATE VIRTUAL TABLE mail_search USING fts5 (subject, body, context, content = 'mail', content_rowid = 'number');

CREATE TRIGGER mail_search_follows AFTER INSERT ON mail
BEGIN
    INSERT INTO mail_search (rowid, subject, body, context) VALUES (NEW.number, NEW.subject, NEW.body, NEW.context);
END;

CREATE VIEW inbox AS
SELECT r.recipient,
       m.id,
       m.type,
       m.urgency,
       m.sender,
       m.is_verified AS verified,
       r.is_cc AS cc,
       strftime('%Y-%m-%d %H:%M:%f', m.sent_at / 1000.0, 'unixepoch') AS sent_at,
       strftime('%Y-%m-%d %H:%M:%f', r.delivered_at / 1000.0, 'unixepoch') AS delivered_at,
       strftime('%Y-%m-%d %H:%M:%f', r.read_at / 1000.0, 'unixepoch') AS read_at,
       strftime('%Y-%m-%d %H:%M:%f', r.ack_due_at / 1000.0, 'unixepoch') AS ack_due_at,
       strftime('%Y-%m-%d %H:%M:%f', r.acknowledged_at / 1000.0, 'unixepoch') AS acknowledged_at,
       t.id AS task_id,
       m.thread_id,
       m.subject
  FROM mail_recipients r
  JOIN mail m ON m.number = r.mail_number
  LEFT JOIN tasks t ON t.number = m.task_number;
