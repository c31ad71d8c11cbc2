//! The statements of a hand-off on one SQLite connection, without a server.
//!
//! The statements, their order and the pragmas are those of the server's writer.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Params, params};

use super::support::fill;

const LOAD: &str = "SELECT t.number, t.id, t.status, t.failure_message, t.created_at, t.updated_at, t.session_id, t.source_type,
                    t.source_user_id, t.source_conversation_id, t.agent_workspace, t.description,
                    t.summary, t.requirements, t.acceptance_criteria, t.plan,
                    (SELECT json_group_array(json_array(h.position, h.id, h.agent_name, h.from_agent, h.mode,
                                                        h.started_at, h.completed_at, h.outcome, h.output,
                                                        NULL))
                       FROM handoffs h WHERE h.task_number = t.number),
                    (SELECT json_group_array(json_array(a.number, a.filename, a.size, a.content_type, a.uploaded_at, a.id))
                       FROM attachments a WHERE a.task_number = t.number),
                    (SELECT p.id FROM tasks p WHERE p.number = t.parent_number),
                    (SELECT m.id FROM tasks m WHERE m.number = t.master_number),
                    t.context, coalesce(t.master_number, t.number)
               FROM tasks t WHERE t.id = $1";
const RESOLVE: &str = "SELECT name, available FROM agents WHERE name = $1";
const INSERT_HANDOFF: &str = "INSERT INTO handoffs (id, task_number, position, agent_name, from_agent, mode, started_at, completed_at,
                                   outcome, reason, output, prompt, from_number, waiter_number, trace_id, parent_span_id,
                                   is_invoked)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";
const INSERT_RUN: &str = "INSERT INTO runs (id, handoff_number, attempt, state, queued_at, resumes)
             VALUES ($1, $2, 1, 'queued', $3, NULL)";
const INSERT_PROMPT: &str = "INSERT INTO messages (task_number, chain_number, handoff_number, occurred_at, type, is_prompt, content)
             VALUES ($1, $2, $3, $4, 'user_message', 1, '')";
const UPDATE_TASK: &str =
    "UPDATE tasks SET status = $1, failure_message = $2, updated_at = $3 WHERE number = $4";
const INSERT_EVENT: &str = "INSERT INTO events (task_number, handoff_number, request_number, occurred_at, type, data) VALUES ($1, $2, $3, $4, $5, $6)";
const COUNT_REQUESTS: &str = "SELECT count(*) FROM requests WHERE handoff_number = $1";
const OPEN_HANDOFF: &str = "SELECT h.number, h.reason, h.trace_id, h.parent_span_id,
                    (SELECT s.harness_trace_id FROM session_handoffs s WHERE s.handoff_number = h.number)
               FROM handoffs h WHERE h.task_number = $1 AND h.completed_at IS NULL";
const END_HANDOFF: &str =
    "UPDATE handoffs SET completed_at = $1, outcome = $2, output = $3 WHERE number = $4";
const END_RUN: &str = "UPDATE runs SET state = 'ended', outcome = $1, ended_at = $2
              WHERE handoff_number = $3 AND state <> 'ended'";

/// The number of tasks created at a time, which is not measured.
const TASKS: usize = 500;

/// One connection, and tasks to hand off.
pub struct Raw {
    connection: Connection,
    tasks: Vec<String>,
}

/// A simulated client: its task and the state of its hand-offs.
struct Turn {
    task: String,
    handoffs: u8,
    is_open: bool,
}

impl Raw {
    pub fn open(database: &Path) -> Self {
        let connection = fill::open(database);
        connection.set_prepared_statement_cache_capacity(64);
        for (pragma, value) in [
            ("journal_mode", "wal"),
            ("synchronous", "full"),
            ("foreign_keys", "on"),
            ("wal_autocheckpoint", "4000"),
        ] {
            connection
                .pragma_update(None, pragma, value)
                .expect("it is a pragma");
        }
        let agent = "INSERT INTO agents (name, spec_path, allowed_tools, permission_mode, provider, created_at, updated_at)
                     VALUES ('developer', 'agents/developer.md', '', 'default', 'claude-code', 0, 0)";
        connection.execute(agent, []).expect("it fits the schema");
        Self {
            connection,
            tasks: Vec::new(),
        }
    }

    /// Simulates clients in turn, with `batch` operations per transaction. Returns hand-offs per second.
    pub fn measure(&mut self, clients: usize, batch: usize, per_task: u8, window: Duration) -> f64 {
        let mut turns: Vec<Turn> = (0..clients).map(|_| self.fresh()).collect();
        let mut next = 0;
        let mut operations = 0_u32;
        let mut spent = Duration::ZERO;
        while spent < window {
            if self.tasks.len() < batch {
                self.tasks = fill::add_tasks(&self.connection, TASKS + batch);
            }
            let began = Instant::now();
            self.execute("BEGIN IMMEDIATE", []);
            for _ in 0..batch {
                let turn = &mut turns[next];
                next = (next + 1) % clients;
                if turn.is_open {
                    self.complete(&turn.task);
                    turn.is_open = false;
                    if turn.handoffs == per_task {
                        *turn = self.fresh();
                    }
                } else {
                    turn.handoffs += 1;
                    self.start(&turn.task, turn.handoffs);
                    turn.is_open = true;
                }
                operations += 1;
            }
            self.execute("COMMIT", []);
            spent += began.elapsed();
        }
        f64::from(operations) / 2.0 / spent.as_secs_f64()
    }

    fn fresh(&mut self) -> Turn {
        if self.tasks.is_empty() {
            self.tasks = fill::add_tasks(&self.connection, TASKS);
        }
        Turn {
            task: self.tasks.pop().expect("tasks were just added"),
            handoffs: 0,
            is_open: false,
        }
    }

    fn start(&self, task: &str, position: u8) {
        let at = fill::now();
        let task_number = self.number(LOAD, params![task]);
        let agent = self.row(RESOLVE, params!["developer"], |row| row.get::<_, String>(0));
        let handoff_number = self.insert(
            INSERT_HANDOFF,
            params![
                fill::new_id(),
                task_number,
                position,
                agent,
                None::<&str>,
                "delegate",
                at,
                None::<i64>,
                None::<&str>,
                None::<&str>,
                "",
                fill::DESCRIPTION,
                None::<i64>,
                None::<i64>,
                None::<&str>,
                None::<&str>,
                true
            ],
        );
        self.insert(INSERT_RUN, params![fill::new_id(), handoff_number, at]);
        self.insert(
            INSERT_PROMPT,
            params![task_number, task_number, handoff_number, at],
        );
        self.execute(
            UPDATE_TASK,
            params!["active", None::<&str>, at, task_number],
        );
        self.insert(
            INSERT_EVENT,
            params![
                task_number,
                handoff_number,
                None::<i64>,
                at,
                "agent_handoff_started",
                format!(r#"{{"agentName":"{agent}"}}"#)
            ],
        );
    }

    fn complete(&self, task: &str) {
        let at = fill::now();
        let task_number = self.number(LOAD, params![task]);
        let handoff_number = self.number(OPEN_HANDOFF, params![task_number]);
        self.execute(
            END_HANDOFF,
            params![at, "completed", fill::DESCRIPTION, handoff_number],
        );
        self.execute(END_RUN, params!["cancelled", at, handoff_number]);
        self.execute(
            UPDATE_TASK,
            params!["waiting", None::<&str>, at, task_number],
        );
        self.insert(
            INSERT_EVENT,
            params![
                task_number,
                handoff_number,
                None::<i64>,
                at,
                "agent_handoff_completed",
                r#"{"agentName":"developer","outputLength":"86"}"#
            ],
        );
        self.number(COUNT_REQUESTS, params![handoff_number]);
    }

    fn number(&self, sql: &str, arguments: impl Params) -> i64 {
        self.row(sql, arguments, |row| row.get(0))
    }

    fn row<T>(
        &self,
        sql: &str,
        arguments: impl Params,
        from_row: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> T {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_one(arguments, from_row))
            .expect("the row is there")
    }

    fn insert(&self, sql: &str, arguments: impl Params) -> i64 {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.insert(arguments))
            .expect("the row fits the schema")
    }

    fn execute(&self, sql: &str, arguments: impl Params) {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(arguments))
            .expect("it fits the schema");
    }
}
