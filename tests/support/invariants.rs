//! Invariants of the database, which hold whatever happens to the server.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// Invariants as queries. Each row that a query returns is a violation.
const INVARIANTS: &[(&str, &str)] = &[
    (
        "a task has more than one open hand-off",
        "SELECT t.id FROM tasks t JOIN handoffs h ON h.task_number = t.number
          WHERE h.completed_at IS NULL GROUP BY t.number HAVING count(*) > 1",
    ),
    (
        "an open hand-off is not the last of its task",
        "SELECT h.id FROM handoffs h
          WHERE h.completed_at IS NULL
            AND h.position < (SELECT max(position) FROM handoffs WHERE task_number = h.task_number)",
    ),
    (
        "a hand-off has only part of its end: completed_at, outcome, output",
        "SELECT id FROM handoffs WHERE (completed_at IS NULL) <> (outcome IS NULL) OR (completed_at IS NULL AND output <> '')",
    ),
    (
        "the positions of a task's hand-offs are not 1 to n",
        "SELECT t.id FROM tasks t JOIN handoffs h ON h.task_number = t.number GROUP BY t.number
         HAVING min(position) <> 1 OR max(position) <> count(*) OR count(DISTINCT position) <> count(*)",
    ),
    (
        "a hand-off does not have exactly one start event",
        "SELECT h.id FROM handoffs h
          WHERE 1 <> (SELECT count(*) FROM events e WHERE e.handoff_number = h.number AND e.type = 'agent_handoff_started')",
    ),
    (
        "an ended hand-off does not have exactly one end event, or an open one has any",
        "SELECT h.id FROM handoffs h
          WHERE (h.outcome IS NOT NULL)
             <> (SELECT count(*) FROM events e
                  WHERE e.handoff_number = h.number AND e.type LIKE 'agent_handoff_%' AND e.type <> 'agent_handoff_started')
             OR (h.outcome IS NOT NULL)
             <> (SELECT count(*) FROM events e WHERE e.handoff_number = h.number AND e.type = 'agent_handoff_' || h.outcome)",
    ),
    (
        "a hand-off event has no hand-off, or one of another task or agent",
        "SELECT e.number FROM events e LEFT JOIN handoffs h ON h.number = e.handoff_number
          WHERE e.type LIKE 'agent_handoff_%'
            AND (h.number IS NULL OR h.task_number <> e.task_number OR h.agent_name <> e.data ->> 'agentName')",
    ),
    (
        "there are not as many start events as hand-offs",
        "SELECT 'all' WHERE (SELECT count(*) FROM handoffs) <> (SELECT count(*) FROM events WHERE type = 'agent_handoff_started')",
    ),
    (
        "there are not as many end events as ended hand-offs",
        "SELECT 'all' WHERE (SELECT count(*) FROM handoffs WHERE completed_at IS NOT NULL)
                         <> (SELECT count(*) FROM events
                              WHERE type IN ('agent_handoff_completed', 'agent_handoff_failed', 'agent_handoff_cancelled',
                                             'agent_handoff_timed_out', 'agent_handoff_interrupted'))",
    ),
    (
        "an open hand-off does not have exactly one unfinished run, or an ended one has any",
        "SELECT h.id FROM handoffs h
          WHERE (h.completed_at IS NULL
                 -- A job has no run while it runs elsewhere.
                 AND NOT EXISTS (SELECT 1 FROM requests q WHERE q.handoff_number = h.number AND q.job_id IS NOT NULL))
             <> (SELECT count(*) FROM runs r WHERE r.handoff_number = h.number AND r.state <> 'ended')",
    ),
    (
        "an invoked hand-off has no run, or a recorded one has a run",
        "SELECT h.id FROM handoffs h WHERE is_invoked <> EXISTS (SELECT 1 FROM runs r WHERE r.handoff_number = h.number)",
    ),
    (
        "a recorded hand-off is open, or its mode is not session",
        "SELECT id FROM handoffs WHERE is_invoked = 0 AND (completed_at IS NULL OR mode <> 'session')",
    ),
    (
        "a hand-off does not have as many messages as message_added events",
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
        "a hand-off does not have exactly one prompt message, or a transfer has one",
        "SELECT h.id FROM handoffs h
          WHERE (h.mode <> 'transfer') <> (SELECT count(*) FROM messages m WHERE m.handoff_number = h.number AND m.is_prompt)",
    ),
    (
        "a message belongs to another chain than its task",
        "SELECT m.number FROM messages m JOIN tasks t ON t.number = m.task_number
          WHERE m.chain_number <> coalesce(t.master_number, t.number)",
    ),
    (
        "a task's root task is not the root of its parents",
        "SELECT t.id FROM tasks t LEFT JOIN tasks p ON p.number = t.parent_number
          WHERE t.master_number IS NOT coalesce(p.master_number, p.number)",
    ),
    (
        "a transfer came from an open hand-off, or its task is not a child of the source task",
        "SELECT h.id FROM handoffs h JOIN handoffs f ON f.number = h.from_number
           JOIN tasks c ON c.number = h.task_number JOIN tasks p ON p.number = f.task_number
          WHERE h.mode = 'transfer' AND (f.completed_at IS NULL OR c.parent_number <> p.number)",
    ),
    (
        "a hand-off comes from a later hand-off, or from one of another chain",
        "SELECT h.id FROM handoffs h JOIN handoffs f ON f.number = h.from_number
           JOIN tasks c ON c.number = h.task_number JOIN tasks p ON p.number = f.task_number
          WHERE f.number >= h.number OR coalesce(c.master_number, c.number) <> coalesce(p.master_number, p.number)",
    ),
    (
        "the limits count from a hand-off that does not start a count, or from one of another family",
        "SELECT h.id FROM handoffs h JOIN handoffs s ON s.number = h.counted_from_number
          WHERE s.number >= h.number OR s.counted_from_number IS NOT NULL
         UNION ALL
         SELECT t.id FROM tasks t JOIN handoffs s ON s.number = t.counted_from_number JOIN tasks p ON p.number = s.task_number
          WHERE coalesce(t.master_number, t.number) <> coalesce(p.master_number, p.number)",
    ),
    (
        "a delegation contradicts its hand-off: the caller, or an answer before the end",
        "SELECT h.id FROM delegations d
           JOIN handoffs h ON h.number = d.handoff_number
           JOIN handoffs a ON a.number = coalesce((SELECT max(m.number) FROM handoffs m WHERE m.asked_number = h.number), h.number)
          WHERE d.caller_number IS NOT h.waiter_number OR a.waiter_number IS NOT h.waiter_number
             OR (d.delivered_at IS NOT NULL AND a.completed_at IS NULL)",
    ),
    (
        "an agent works for another one that waited and has ended without success",
        "SELECT h.id FROM handoffs h
           JOIN delegations d ON d.handoff_number = coalesce(h.asked_number, h.number) AND d.is_awaited = 1
           JOIN handoffs w ON w.number = h.waiter_number
          WHERE h.completed_at IS NULL AND w.outcome <> 'completed'",
    ),
    (
        "a hand-off continues one of another waiter",
        "SELECT h.id FROM handoffs h JOIN handoffs q ON q.number = h.asked_number
          WHERE q.waiter_number IS NOT h.waiter_number OR q.asked_number IS NOT NULL",
    ),
    (
        "a session hand-off contradicts its session, task or agents",
        "SELECT s.id FROM session_handoffs m JOIN sessions s ON s.number = m.session_number
           JOIN handoffs h ON h.number = m.handoff_number JOIN tasks t ON t.number = s.task_number
          WHERE h.task_number <> t.number OR t.session_id <> s.id OR h.mode <> 'session'
             OR h.agent_name <> m.to_agent OR h.from_agent <> m.from_agent",
    ),
    (
        "a session hand-off belongs to no session",
        "SELECT id FROM handoffs h WHERE mode = 'session'
            AND NOT EXISTS (SELECT 1 FROM session_handoffs m WHERE m.handoff_number = h.number)",
    ),
    (
        "a run has ended without an outcome, or has an outcome and has not ended",
        "SELECT id FROM runs WHERE (state = 'ended') <> (outcome IS NOT NULL) OR (state = 'ended') <> (ended_at IS NOT NULL)",
    ),
    (
        "a task does not begin with exactly one task_created event",
        "SELECT t.id FROM tasks t
          WHERE 1 <> (SELECT count(*) FROM events WHERE task_number = t.number AND type = 'task_created')
             OR 'task_created' <> (SELECT type FROM events WHERE task_number = t.number ORDER BY number LIMIT 1)",
    ),
    (
        "a queue does not have as many messages as message_queued events",
        "SELECT t.id FROM tasks t
          WHERE (SELECT count(*) FROM queue_messages WHERE task_number = t.number)
             <> (SELECT coalesce(sum(CASE type WHEN 'message_queued' THEN 1 WHEN 'message_taken_back' THEN -1
                                               WHEN 'message_moved' THEN -1 END), 0)
                   FROM events WHERE task_number = t.number)",
    ),
    (
        "the holder of a shared plan shares a plan itself, or is not an older task",
        "SELECT t.id FROM tasks t JOIN tasks p ON p.number = t.plan_number WHERE p.plan_number IS NOT NULL OR p.number >= t.number",
    ),
    (
        "a queued message is not delivered as its events say",
        "SELECT q.id FROM queue_messages q
          WHERE (q.delivered_at IS NOT NULL)
             <> (SELECT coalesce(sum(CASE type WHEN 'message_delivered' THEN 1 WHEN 'message_returned' THEN -1 END), 0)
                   FROM events WHERE task_number = q.task_number AND data ->> 'messageId' = q.id)",
    ),
    (
        "a message of a chat waits on a task whose last hand-off has completed since",
        "SELECT q.id FROM queue_messages q
           JOIN tasks t ON t.number = q.task_number
           JOIN handoffs h ON h.task_number = t.number
            AND h.position = (SELECT max(position) FROM handoffs WHERE task_number = t.number)
          WHERE q.starts_handoff = 1 AND q.delivered_at IS NULL AND h.outcome = 'completed' AND t.status <> 'pending'
            AND h.completed_at > q.received_at
            AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.task_number = t.number AND m.type = 'status_change'
                               AND m.occurred_at >= h.completed_at)",
    ),
    (
        "a task does not have as many attachments as its events say",
        "SELECT t.id FROM tasks t
          WHERE (SELECT count(*) FROM attachments WHERE task_number = t.number)
             <> (SELECT coalesce(sum(CASE type WHEN 'attachment_added' THEN 1 WHEN 'attachment_removed' THEN -1 END), 0)
                   FROM events WHERE task_number = t.number)",
    ),
    (
        "the event numbers have gaps",
        "SELECT 'all' WHERE (SELECT count(*) FROM events) <> (SELECT coalesce(max(number), 0) FROM events)",
    ),
    (
        "a task is active without an open hand-off, and nobody set that status",
        "SELECT t.id FROM tasks t
          WHERE t.status = 'active'
            AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.task_number = t.number AND h.completed_at IS NULL)
            AND 'active' IS NOT (SELECT CASE type WHEN 'status_changed' THEN data ->> 'to' END FROM events
                                  WHERE task_number = t.number AND (type = 'status_changed' OR type LIKE 'agent_handoff_%')
                                  ORDER BY number DESC LIMIT 1)",
    ),
    (
        "a task's count of unmet dependencies is wrong",
        "SELECT t.id FROM tasks t
          WHERE t.unmet <> (SELECT count(*) FROM task_dependencies d JOIN tasks o ON o.number = d.depends_on_number
                             WHERE d.task_number = t.number
                               AND NOT ((o.status = 'completed' AND d.outcome IN ('completed', 'any'))
                                        OR (o.status = 'failed' AND d.outcome IN ('failed', 'any'))))",
    ),
    (
        "the dependencies of tasks form a cycle",
        "WITH RECURSIVE reach (task, target) AS (
             SELECT task_number, depends_on_number FROM task_dependencies
             UNION SELECT r.task, d.depends_on_number FROM reach r JOIN task_dependencies d ON d.task_number = r.target
         )
         SELECT task FROM reach WHERE task = target",
    ),
    (
        "a task's tags differ from its rows in task_tags",
        "SELECT t.id FROM tasks t
          WHERE (SELECT group_concat(value) FROM (SELECT value FROM json_each(t.specialist_tags) ORDER BY value))
             IS NOT (SELECT group_concat(tag) FROM (SELECT tag FROM task_tags WHERE task_number = t.number ORDER BY tag))",
    ),
    (
        "a task's route attempts exceed its routed hand-offs, or differ from the router's mail",
        "SELECT t.id FROM tasks t
          WHERE t.route_attempts > (SELECT count(*) FROM handoffs h WHERE h.task_number = t.number AND h.mode = 'route')
             OR t.route_attempts <> (SELECT count(*) FROM mail m JOIN handoffs h ON h.number = m.handoff_number
                                      WHERE h.task_number = t.number AND h.mode = 'route')",
    ),
    (
        "a task waits for an agent or a person without a reason",
        "SELECT id FROM tasks WHERE waiting_reason IS NULL AND (is_unsuited OR is_blocked)",
    ),
    (
        "a task is marked unsuited, but is not pending or has no role",
        "SELECT id FROM tasks WHERE is_unsuited AND (status <> 'pending' OR agent_role IS NULL)",
    ),
    (
        "an increment does not have one test per round and one fix per further round",
        "SELECT i.id FROM increments i
          WHERE i.round <> (SELECT count(*) FROM tasks t WHERE t.increment_number = i.number AND t.stage = 'test')
             OR i.round <> 1 + (SELECT count(*) FROM tasks t WHERE t.increment_number = i.number AND t.stage = 'fix')",
    ),
    (
        "an increment is done before all stages of its round are completed, or is not done after that",
        "SELECT i.id FROM increments i
          WHERE (i.state = 'done')
             <> NOT EXISTS (SELECT 1 FROM tasks t WHERE t.increment_number = i.number AND t.round = i.round
                               AND t.status <> 'completed')",
    ),
    (
        "an increment is blocked without a blocked or failed stage in its round, or has one and is not blocked",
        "SELECT i.id FROM increments i
          WHERE (i.state = 'blocked')
             <> EXISTS (SELECT 1 FROM tasks t WHERE t.increment_number = i.number AND t.round = i.round
                           AND (t.is_blocked = 1 OR t.status = 'failed'))",
    ),
    (
        "a stage of a finished round is still pending or blocked",
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
        "a transition does not start at the state that the previous one led to",
        "SELECT number FROM (SELECT number, from_state,
                                    lag(to_state) OVER (PARTITION BY request_number ORDER BY number) AS before
                               FROM request_transitions)
          WHERE from_state IS NOT before",
    ),
    (
        "a request is done without a response, or has a response and is not done",
        "SELECT id FROM requests WHERE (state = 'done') <> (response IS NOT NULL)",
    ),
    (
        "a request's attempts differ from its claim transitions",
        "SELECT id FROM requests q
          WHERE attempts <> (SELECT count(*) FROM request_transitions
                              WHERE request_number = q.number AND to_state = 'claimed' AND is_by_file = 0)",
    ),
    (
        "a stuck request is not in the state needs",
        "SELECT id FROM requests WHERE is_stuck AND state <> 'needs'",
    ),
    (
        "a request's events differ from its transitions",
        "WITH moves AS (
             SELECT request_number, to_state, row_number() OVER life AS place,
                    CASE WHEN row_number() OVER life = 1 THEN 'request_created'
                         WHEN to_state = 'needs' OR (from_state = 'claimed' AND to_state = 'delegated') THEN 'request_requeued'
                         WHEN to_state = 'delegated' THEN 'request_approved'
                         ELSE 'request_' || to_state END AS type
               FROM request_transitions WINDOW life AS (PARTITION BY request_number ORDER BY number)
         ), recorded AS (
             SELECT request_number, type, data ->> 'to' AS to_state,
                    row_number() OVER (PARTITION BY request_number ORDER BY number) AS place
               FROM events
              WHERE type IN ('request_created', 'request_approved', 'request_next', 'request_claimed', 'request_done',
                             'request_requeued')
         )
         SELECT coalesce(m.request_number, t.request_number, 'none')
           FROM moves m FULL JOIN recorded t ON t.request_number = m.request_number AND t.place = m.place
          WHERE m.type IS NOT t.type OR (m.place > 1 AND m.to_state IS NOT t.to_state)",
    ),
    (
        "an event is about a hand-off of another task",
        "SELECT e.number FROM events e JOIN handoffs h ON h.number = e.handoff_number WHERE e.task_number IS NOT h.task_number",
    ),
    (
        "an alert does not have exactly one alert_raised event, or its alert_resolved event is missing or too many",
        "SELECT id FROM alerts a
          WHERE 1 <> (SELECT count(*) FROM events WHERE type = 'alert_raised' AND data ->> 'alertId' = a.id)
             OR (resolved_at IS NOT NULL)
             <> (SELECT count(*) FROM events WHERE type = 'alert_resolved' AND data ->> 'alertId' = a.id)",
    ),
    (
        "a mail does not have exactly one mail_sent event, or has no primary recipient",
        "SELECT id FROM mail m
          WHERE 1 <> (SELECT count(*) FROM events WHERE type = 'mail_sent' AND data ->> 'mailId' = m.id)
             OR NOT EXISTS (SELECT 1 FROM mail_recipients WHERE mail_number = m.number AND is_cc = 0)",
    ),
    (
        "a mail's delivered, read and acknowledged times contradict its events",
        "WITH recorded AS (
             SELECT m.id, r.recipient, r.delivered_at, r.read_at, r.acknowledged_at,
                    (SELECT count(*) FROM events WHERE type = 'mail_delivered' AND data ->> 'mailId' = m.id AND data ->> 'recipient' = r.recipient) AS delivered,
                    (SELECT count(*) FROM events WHERE type = 'mail_read' AND data ->> 'mailId' = m.id AND data ->> 'recipient' = r.recipient) AS read,
                    (SELECT count(*) FROM events WHERE type = 'mail_acknowledged' AND data ->> 'mailId' = m.id AND data ->> 'recipient' = r.recipient) AS acknowledged
               FROM mail m JOIN mail_recipients r ON r.mail_number = m.number
         )
         SELECT id || ' ' || recipient FROM recorded
          WHERE (delivered_at IS NOT NULL) <> (delivered > 0)
             OR (acknowledged_at IS NOT NULL) <> acknowledged
             OR read > 1 OR (read_at IS NOT NULL) <> (read + acknowledged > 0)",
    ),
    (
        "a recipient's acknowledgement deadline differs from the mail's",
        "SELECT m.id FROM mail m JOIN mail_recipients r ON r.mail_number = m.number
          WHERE r.ack_due_at IS NOT iif(r.is_cc, NULL, m.ack_due_at)",
    ),
    (
        "mail in the prompt of a completed hand-off is not marked as read",
        "SELECT r.number FROM mail_recipients r JOIN handoffs h ON h.number = r.delivered_handoff_number
          WHERE h.outcome = 'completed' AND r.read_at IS NULL",
    ),
];

/// Opens a database without a checkpoint on close, so that the next process must recover the write-ahead log as well.
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

/// Copies of the large tables, with the indexes that the invariants need and the program does not. They hide the tables of the same
/// name. Without them, the time of the checks grows with the square of the hand-offs.
const COPIES: &str = "
    CREATE TEMP TABLE events AS SELECT * FROM main.events;
    CREATE UNIQUE INDEX temp.events_by_number ON events (number);
    CREATE INDEX temp.events_by_task ON events (task_number);
    CREATE INDEX temp.events_by_handoff ON events (handoff_number, type);
    CREATE TEMP TABLE messages AS SELECT * FROM main.messages;
    CREATE UNIQUE INDEX temp.messages_by_number ON messages (number);
    CREATE INDEX temp.messages_by_handoff ON messages (handoff_number, is_prompt);";

/// Lists the violations in a database, which must not have imported events.
pub fn violations(database: &Path) -> Vec<String> {
    let connection = open(database);
    // One transaction reads one snapshot, even while a server writes.
    connection.execute_batch("BEGIN").unwrap();
    let mut found: Vec<String> = column(&connection, "PRAGMA integrity_check")
        .into_iter()
        .filter(|line| line != "ok")
        .map(|line| format!("integrity_check: {line}"))
        .collect();
    for table in column(&connection, "PRAGMA foreign_key_check") {
        found.push(format!("foreign_key_check: {table}"));
    }
    connection.execute_batch(COPIES).unwrap();
    for (violation, query) in INVARIANTS {
        for row in column(&connection, query) {
            found.push(format!("{violation}: {row}"));
        }
    }
    found.extend(wrong_statuses(&connection));
    found
}

/// Fails if a database has violations.
pub fn assert_hold(database: &Path) {
    assert_eq!(violations(database), [""; 0]);
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

/// Lists the tasks whose status differs from the one that their events lead to.
fn wrong_statuses(connection: &Connection) -> Vec<String> {
    let mut statement = connection
        .prepare(
            "SELECT e.task_number, e.type, e.data ->> 'to', t.is_delegated
               FROM events e JOIN tasks t ON t.number = e.task_number
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
            "agent_handoff_started" => {
                // The next hand-off continues a task that ended with its last one.
                let is_delegated: bool = row.get(3).unwrap();
                if is_delegated || matches!(status.as_str(), "pending" | "waiting") {
                    "active".clone_into(status);
                }
            }
            // A status that was set during the hand-off stays.
            ended if ended.starts_with("agent_handoff_") && status == "active" => {
                "waiting".clone_into(status);
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
                "a task's status contradicts its history: {id} is {status}, expected {expected}"
            ));
        }
    }
    wrong
}
