//! What always holds in a database, whatever happened to the server.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// Rules as queries: each row is a violation, and says of what.
const RULES: &[(&str, &str)] = &[
    (
        "a task has more than one open hand-off",
        "SELECT t.id FROM tasks t JOIN handoffs h ON h.task_number = t.number
          WHERE h.completed_at IS NULL GROUP BY t.number HAVING count(*) > 1",
    ),
    (
        "a hand-off is open and is not the last of its task",
        "SELECT h.id FROM handoffs h
          WHERE h.completed_at IS NULL
            AND h.position < (SELECT max(position) FROM handoffs WHERE task_number = h.task_number)",
    ),
    (
        "a hand-off is half ended",
        "SELECT id FROM handoffs WHERE (completed_at IS NULL) <> (outcome IS NULL) OR (completed_at IS NULL AND output <> '')",
    ),
    (
        "the positions of a chain are not 1 to n",
        "SELECT t.id FROM tasks t JOIN handoffs h ON h.task_number = t.number GROUP BY t.number
         HAVING min(position) <> 1 OR max(position) <> count(*) OR count(DISTINCT position) <> count(*)",
    ),
    (
        "a hand-off has not exactly one event of its start",
        "SELECT h.id FROM handoffs h
          WHERE 1 <> (SELECT count(*) FROM events e WHERE e.handoff_number = h.number AND e.type = 'agent_handoff_started')",
    ),
    (
        "a hand-off has not exactly one event of its end, or has one while it is open",
        "SELECT h.id FROM handoffs h
          WHERE (h.outcome IS NOT NULL)
             <> (SELECT count(*) FROM events e
                  WHERE e.handoff_number = h.number AND e.type LIKE 'agent_handoff_%' AND e.type <> 'agent_handoff_started')
             OR (h.outcome IS NOT NULL)
             <> (SELECT count(*) FROM events e WHERE e.handoff_number = h.number AND e.type = 'agent_handoff_' || h.outcome)",
    ),
    (
        "an event of a hand-off names no hand-off, or one of another task or agent",
        "SELECT e.number FROM events e LEFT JOIN handoffs h ON h.number = e.handoff_number
          WHERE e.type LIKE 'agent_handoff_%'
            AND (h.number IS NULL OR h.task_number <> e.task_number OR h.agent_name <> e.data ->> 'agentName')",
    ),
    (
        "the events of starts are not as many as the hand-offs",
        "SELECT 'all' WHERE (SELECT count(*) FROM handoffs) <> (SELECT count(*) FROM events WHERE type = 'agent_handoff_started')",
    ),
    (
        "the events of ends are not as many as the hand-offs that ended",
        "SELECT 'all' WHERE (SELECT count(*) FROM handoffs WHERE completed_at IS NOT NULL)
                         <> (SELECT count(*) FROM events
                              WHERE type IN ('agent_handoff_completed', 'agent_handoff_failed', 'agent_handoff_cancelled',
                                             'agent_handoff_timed_out', 'agent_handoff_interrupted'))",
    ),
    (
        "an open hand-off has not exactly one run that is not ended, or an ended one has any",
        "SELECT h.id FROM handoffs h
          WHERE (h.completed_at IS NULL
                 -- A job goes on elsewhere.
                 AND NOT EXISTS (SELECT 1 FROM requests q WHERE q.handoff_number = h.number AND q.job_id IS NOT NULL))
             <> (SELECT count(*) FROM runs r WHERE r.handoff_number = h.number AND r.state <> 'ended')",
    ),
    (
        "a hand-off has no run, or has one that was not wanted",
        "SELECT h.id FROM handoffs h WHERE is_invoked <> EXISTS (SELECT 1 FROM runs r WHERE r.handoff_number = h.number)",
    ),
    (
        "a hand-off that nobody was to run is open, or is not one of a session",
        "SELECT id FROM handoffs WHERE is_invoked = 0 AND (completed_at IS NULL OR mode <> 'session')",
    ),
    (
        "an agent said more or less than events say",
        "SELECT h.id FROM handoffs h
          WHERE (SELECT count(*) FROM messages WHERE handoff_number = h.number AND is_prompt = 0)
             <> (SELECT count(*) FROM events WHERE handoff_number = h.number AND type = 'message_added')",
    ),
    (
        "a message was recorded after the end of its hand-off",
        "SELECT e.number FROM events e
          WHERE e.type = 'message_added'
            AND EXISTS (SELECT 1 FROM events o WHERE o.handoff_number = e.handoff_number AND o.number < e.number
                           AND o.type LIKE 'agent_handoff_%' AND o.type <> 'agent_handoff_started')",
    ),
    (
        "what was asked was not said once, unless it came with a transfer",
        "SELECT h.id FROM handoffs h
          WHERE (h.mode <> 'transfer') <> (SELECT count(*) FROM messages m WHERE m.handoff_number = h.number AND m.is_prompt)",
    ),
    (
        "a message is of another chain than its task",
        "SELECT m.number FROM messages m JOIN tasks t ON t.number = m.task_number
          WHERE m.chain_number <> coalesce(t.master_number, t.number)",
    ),
    (
        "the first task of a chain is not the one that the parents lead to",
        "SELECT t.id FROM tasks t LEFT JOIN tasks p ON p.number = t.parent_number
          WHERE t.master_number IS NOT coalesce(p.master_number, p.number)",
    ),
    (
        "control moved by a tool from a task that is not done, or to one that is no child of it",
        "SELECT h.id FROM handoffs h JOIN handoffs f ON f.number = h.from_number
           JOIN tasks c ON c.number = h.task_number JOIN tasks p ON p.number = f.task_number
          WHERE h.mode = 'transfer' AND (f.completed_at IS NULL OR c.parent_number <> p.number)",
    ),
    (
        "a hand-off comes from a later one, or from another chain",
        "SELECT h.id FROM handoffs h JOIN handoffs f ON f.number = h.from_number
           JOIN tasks c ON c.number = h.task_number JOIN tasks p ON p.number = f.task_number
          WHERE f.number >= h.number OR coalesce(c.master_number, c.number) <> coalesce(p.master_number, p.number)",
    ),
    (
        "a session and its hand-offs do not belong together",
        "SELECT s.id FROM session_handoffs m JOIN sessions s ON s.number = m.session_number
           JOIN handoffs h ON h.number = m.handoff_number JOIN tasks t ON t.number = s.task_number
          WHERE h.task_number <> t.number OR t.session_id <> s.id OR h.mode <> 'session'
             OR h.agent_name <> m.to_agent OR h.from_agent <> m.from_agent",
    ),
    (
        "a hand-off of a session is in no session",
        "SELECT id FROM handoffs h WHERE mode = 'session'
            AND NOT EXISTS (SELECT 1 FROM session_handoffs m WHERE m.handoff_number = h.number)",
    ),
    (
        "a run has ended without an outcome, or has one and goes on",
        "SELECT id FROM runs WHERE (state = 'ended') <> (outcome IS NOT NULL) OR (state = 'ended') <> (ended_at IS NOT NULL)",
    ),
    (
        "a task does not begin with the one event of its creation",
        "SELECT t.id FROM tasks t
          WHERE 1 <> (SELECT count(*) FROM events WHERE task_number = t.number AND type = 'task_created')
             OR 'task_created' <> (SELECT type FROM events WHERE task_number = t.number ORDER BY number LIMIT 1)",
    ),
    (
        "a queue has not as many messages as events say",
        "SELECT t.id FROM tasks t
          WHERE (SELECT count(*) FROM queue_messages WHERE task_number = t.number)
             <> (SELECT count(*) FROM events WHERE task_number = t.number AND type = 'message_queued')",
    ),
    (
        "a task has not as many attachments as events say",
        "SELECT t.id FROM tasks t
          WHERE (SELECT count(*) FROM attachments WHERE task_number = t.number)
             <> (SELECT coalesce(sum(CASE type WHEN 'attachment_added' THEN 1 WHEN 'attachment_removed' THEN -1 END), 0)
                   FROM events WHERE task_number = t.number)",
    ),
    (
        "the numbers of events have gaps",
        "SELECT 'all' WHERE (SELECT count(*) FROM events) <> (SELECT coalesce(max(number), 0) FROM events)",
    ),
    (
        "a task is active without an open hand-off, and nobody set it so",
        "SELECT t.id FROM tasks t
          WHERE t.status = 'active'
            AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.task_number = t.number AND h.completed_at IS NULL)
            AND 'active' IS NOT (SELECT CASE type WHEN 'status_changed' THEN data ->> 'to' END FROM events
                                  WHERE task_number = t.number AND (type = 'status_changed' OR type LIKE 'agent_handoff_%')
                                  ORDER BY number DESC LIMIT 1)",
    ),
    (
        "a task does not know how much of what it waits for is not met",
        "SELECT t.id FROM tasks t
          WHERE t.unmet <> (SELECT count(*) FROM task_dependencies d JOIN tasks o ON o.number = d.depends_on_number
                             WHERE d.task_number = t.number
                               AND NOT ((o.status = 'completed' AND d.outcome IN ('completed', 'any'))
                                        OR (o.status = 'failed' AND d.outcome IN ('failed', 'any'))))",
    ),
    (
        "tasks wait for each other",
        "WITH RECURSIVE reach (task, target) AS (
             SELECT task_number, depends_on_number FROM task_dependencies
             UNION SELECT r.task, d.depends_on_number FROM reach r JOIN task_dependencies d ON d.task_number = r.target
         )
         SELECT task FROM reach WHERE task = target",
    ),
    (
        "the tags of a task are not those that it is found by",
        "SELECT t.id FROM tasks t
          WHERE (SELECT group_concat(value) FROM (SELECT value FROM json_each(t.specialist_tags) ORDER BY value))
             IS NOT (SELECT group_concat(tag) FROM (SELECT tag FROM task_tags WHERE task_number = t.number ORDER BY tag))",
    ),
    (
        "the router gave a task to agents more or less often than it counted, or mailed",
        "SELECT t.id FROM tasks t
          WHERE t.route_attempts > (SELECT count(*) FROM handoffs h WHERE h.task_number = t.number AND h.mode = 'route')
             OR t.route_attempts <> (SELECT count(*) FROM mail m JOIN handoffs h ON h.number = m.handoff_number
                                      WHERE h.task_number = t.number AND h.mode = 'route')",
    ),
    (
        "a task waits for an agent or a person for no reason",
        "SELECT id FROM tasks WHERE waiting_reason IS NULL AND (is_unsuited OR is_blocked)",
    ),
    (
        "a task that is ready for the router is forgotten by its index",
        "SELECT id FROM tasks WHERE is_unsuited AND (status <> 'pending' OR agent_role IS NULL)",
    ),
    (
        "an increment has not as many tests as rounds, or not one fix less",
        "SELECT i.id FROM increments i
          WHERE i.round <> (SELECT count(*) FROM tasks t WHERE t.increment_number = i.number AND t.stage = 'test')
             OR i.round <> 1 + (SELECT count(*) FROM tasks t WHERE t.increment_number = i.number AND t.stage = 'fix')",
    ),
    (
        "an increment is done without a verification, or all of its round is completed and it is not done",
        "SELECT i.id FROM increments i
          WHERE (i.state = 'done')
             <> NOT EXISTS (SELECT 1 FROM tasks t WHERE t.increment_number = i.number AND t.round = i.round
                               AND t.status <> 'completed')",
    ),
    (
        "an increment is blocked and nothing of its round is, or is not and something is",
        "SELECT i.id FROM increments i
          WHERE (i.state = 'blocked')
             <> EXISTS (SELECT 1 FROM tasks t WHERE t.increment_number = i.number AND t.round = i.round
                           AND (t.is_blocked = 1 OR t.status = 'failed'))",
    ),
    (
        "a stage of a round that is over is still to be worked on",
        "SELECT t.id FROM tasks t JOIN increments i ON i.number = t.increment_number
          WHERE t.round < i.round AND (t.status = 'pending' OR t.is_blocked = 1)",
    ),
    (
        "a request is claimed by a hand-off that has ended",
        "SELECT q.id FROM requests q JOIN handoffs h ON h.number = q.handoff_number WHERE h.completed_at IS NOT NULL",
    ),
    (
        "a request is worked on by a hand-off of another chain than its task",
        "SELECT q.id FROM requests q JOIN handoffs h ON h.number = q.handoff_number JOIN tasks t ON t.number = h.task_number
           LEFT JOIN tasks o ON o.number = q.task_number
          WHERE coalesce(t.master_number, t.number) IS NOT coalesce(o.master_number, o.number)",
    ),
    (
        "the last transition of a request does not lead to its state",
        "SELECT id FROM requests q
          WHERE state IS NOT (SELECT to_state FROM request_transitions WHERE request_number = q.number
                               ORDER BY number DESC LIMIT 1)",
    ),
    (
        "a transition does not begin where the one before it led",
        "SELECT number FROM (SELECT number, from_state,
                                    lag(to_state) OVER (PARTITION BY request_number ORDER BY number) AS before
                               FROM request_transitions)
          WHERE from_state IS NOT before",
    ),
    (
        "a request is done without a response, or has one and is not",
        "SELECT id FROM requests WHERE (state = 'done') <> (response IS NOT NULL)",
    ),
    (
        "a request is claimed more or less often than its transitions say",
        "SELECT id FROM requests q
          WHERE attempts <> (SELECT count(*) FROM request_transitions
                              WHERE request_number = q.number AND to_state = 'claimed' AND is_by_file = 0)",
    ),
    (
        "a request is stuck and does not wait for a person",
        "SELECT id FROM requests WHERE is_stuck AND state <> 'needs'",
    ),
    (
        "the events of a request are not its transitions",
        "WITH moves AS (
             SELECT request_number, to_state, row_number() OVER life AS place,
                    CASE WHEN row_number() OVER life = 1 THEN 'request_created'
                         WHEN to_state = 'needs' OR (from_state = 'claimed' AND to_state = 'delegated') THEN 'request_requeued'
                         WHEN to_state = 'delegated' THEN 'request_approved'
                         ELSE 'request_' || to_state END AS type
               FROM request_transitions WINDOW life AS (PARTITION BY request_number ORDER BY number)
         ), told AS (
             SELECT request_number, type, data ->> 'to' AS to_state,
                    row_number() OVER (PARTITION BY request_number ORDER BY number) AS place
               FROM events
              WHERE type IN ('request_created', 'request_approved', 'request_next', 'request_claimed', 'request_done',
                             'request_requeued')
         )
         SELECT coalesce(m.request_number, t.request_number, 'none')
           FROM moves m FULL JOIN told t ON t.request_number = m.request_number AND t.place = m.place
          WHERE m.type IS NOT t.type OR (m.place > 1 AND m.to_state IS NOT t.to_state)",
    ),
    (
        "an event is about a hand-off of another task",
        "SELECT e.number FROM events e JOIN handoffs h ON h.number = e.handoff_number WHERE e.task_number IS NOT h.task_number",
    ),
    (
        "an alert has not exactly one event of its beginning, or of its end",
        "SELECT id FROM alerts a
          WHERE 1 <> (SELECT count(*) FROM events WHERE type = 'alert_raised' AND data ->> 'alertId' = a.id)
             OR (resolved_at IS NOT NULL)
             <> (SELECT count(*) FROM events WHERE type = 'alert_resolved' AND data ->> 'alertId' = a.id)",
    ),
    (
        "a mail has not exactly one event of its beginning, or nobody whom it is for",
        "SELECT id FROM mail m
          WHERE 1 <> (SELECT count(*) FROM events WHERE type = 'mail_sent' AND data ->> 'mailId' = m.id)
             OR NOT EXISTS (SELECT 1 FROM mail_recipients WHERE mail_number = m.number AND is_cc = 0)",
    ),
    (
        "what became of a mail is not what its events say",
        "WITH told AS (
             SELECT m.id, r.recipient, r.delivered_at, r.read_at, r.acknowledged_at,
                    (SELECT count(*) FROM events WHERE type = 'mail_delivered' AND data ->> 'mailId' = m.id AND data ->> 'recipient' = r.recipient) AS delivered,
                    (SELECT count(*) FROM events WHERE type = 'mail_read' AND data ->> 'mailId' = m.id AND data ->> 'recipient' = r.recipient) AS read,
                    (SELECT count(*) FROM events WHERE type = 'mail_acknowledged' AND data ->> 'mailId' = m.id AND data ->> 'recipient' = r.recipient) AS acknowledged
               FROM mail m JOIN mail_recipients r ON r.mail_number = m.number
         )
         SELECT id || ' ' || recipient FROM told
          WHERE (delivered_at IS NOT NULL) <> (delivered > 0)
             OR (acknowledged_at IS NOT NULL) <> acknowledged
             OR read > 1 OR (read_at IS NOT NULL) <> (read + acknowledged > 0)",
    ),
    (
        "an acknowledgement is wanted from somebody else than the mail says",
        "SELECT m.id FROM mail m JOIN mail_recipients r ON r.mail_number = m.number
          WHERE r.ack_due_at IS NOT iif(r.is_cc, NULL, m.ack_due_at)",
    ),
    (
        "mail that was put into the prompt of a completed hand-off is not read",
        "SELECT r.number FROM mail_recipients r JOIN handoffs h ON h.number = r.delivered_handoff_number
          WHERE h.outcome = 'completed' AND r.read_at IS NULL",
    ),
];

/// Opens a database without touching its write-ahead log, so that whoever opens it next must recover it as well.
pub fn open(database: &Path) -> Connection {
    let connection = Connection::open(database).unwrap();
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .unwrap();
    connection
        .busy_timeout(std::time::Duration::from_secs(30))
        .unwrap();
    connection
}

/// Lists what is wrong in a database; empty if all is well. No event may have been imported.
pub fn violations(database: &Path) -> Vec<String> {
    let connection = open(database);
    // One transaction is one moment, even while somebody writes.
    connection.execute_batch("BEGIN").unwrap();
    let mut found: Vec<String> = column(&connection, "PRAGMA integrity_check")
        .into_iter()
        .filter(|line| line != "ok")
        .map(|line| format!("integrity_check: {line}"))
        .collect();
    for table in column(&connection, "PRAGMA foreign_key_check") {
        found.push(format!("foreign_key_check: {table}"));
    }
    for (rule, query) in RULES {
        for what in column(&connection, query) {
            found.push(format!("{rule}: {what}"));
        }
    }
    found.extend(wrong_statuses(&connection));
    found
}

/// Reads the first column of every row as text.
fn column(connection: &Connection, query: &str) -> Vec<String> {
    let mut statement = connection.prepare(query).unwrap();
    let rows = statement.query_map([], |row| {
        Ok(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            value => value.as_str()?.to_owned(),
        })
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// Lists the tasks whose status is not the one that their history leads to.
fn wrong_statuses(connection: &Connection) -> Vec<String> {
    let mut statement = connection
        .prepare(
            "SELECT e.task_number, e.type, e.data ->> 'to', h.mode = 'route' OR t.stage IS NOT NULL
               FROM events e LEFT JOIN handoffs h ON h.number = e.handoff_number LEFT JOIN tasks t ON t.number = e.task_number
              WHERE e.task_number IS NOT NULL ORDER BY e.number",
        )
        .unwrap();
    let mut replayed: BTreeMap<i64, String> = BTreeMap::new();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let status = replayed.entry(row.get(0).unwrap()).or_default();
        let event_type: String = row.get(1).unwrap();
        match event_type.as_str() {
            "task_created" => "pending".clone_into(status),
            "status_changed" => *status = row.get(2).unwrap(),
            "agent_handoff_started" if matches!(status.as_str(), "pending" | "waiting") => {
                "active".clone_into(status);
            }
            "agent_handoff_started" => {}
            ended if ended.starts_with("agent_handoff_") => {
                // What a person has ended while the router's agent worked stays ended.
                let is_routed: Option<bool> = row.get(3).unwrap();
                let is_decided = matches!(status.as_str(), "completed" | "failed");
                if is_routed != Some(true) || !is_decided {
                    "waiting".clone_into(status);
                }
            }
            _ => {}
        }
    }
    let mut statement = connection
        .prepare("SELECT number, id, status FROM tasks")
        .unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut wrong = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let (number, id, status): (i64, String, String) = (
            row.get(0).unwrap(),
            row.get(1).unwrap(),
            row.get(2).unwrap(),
        );
        let expected = replayed.get(&number).map_or("none", String::as_str);
        if expected != status {
            wrong.push(format!(
                "a status is not the one of the history: {id} is {status}, not {expected}"
            ));
        }
    }
    wrong
}
