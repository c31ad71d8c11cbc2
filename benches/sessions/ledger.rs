//! Fills a database with concurrent sessions.

use std::path::Path;

use rusqlite::{Connection, params};
use serde_json::json;

use super::support::fill;

/// Hand-offs per session.
pub const PER_SESSION: usize = 100;

/// Hand-offs per trace of the harness.
pub const PER_TRACE: usize = 10;

/// Hand-offs per message of the conversation.
const PER_MESSAGE: usize = 25;

/// The agents that every server has.
pub const AGENTS: [&str; 5] = [
    "developer",
    "developer-review",
    "qa",
    "planner",
    "orchestrator",
];

/// Milliseconds between consecutive hand-offs, over all sessions.
const PACE: i64 = 10;

pub const REASON: &str = "The question is about the parser, which somebody else knows better.";
const OUTPUT: &str =
    "The fixture was shared between tests and one of them changed it. Each test makes its own now.";

const INSERT_TASK: &str = "INSERT INTO tasks (id, status, created_at, updated_at, session_id, source_type, source_user_id,
                                              source_conversation_id, agent_workspace, description)
     VALUES ($1, 'waiting', $2, $3, $4, 'session', 'anonymous', $4, $5, $6)";
const INSERT_SESSION: &str =
    "INSERT INTO sessions (id, task_number, created_at) VALUES ($1, $2, $3)";
const INSERT_HANDOFF: &str = "INSERT INTO handoffs (id, task_number, position, agent_name, from_agent, mode, started_at, completed_at,
                                                 outcome, reason, output, prompt, from_number)
     VALUES ($1, $2, $3, $4, $5, 'session', $6, $7, 'completed', $8, $9, $10, $11)";
const INSERT_RUN: &str = "INSERT INTO runs (id, handoff_number, attempt, state, outcome, queued_at, started_at, ended_at, cost_usd)
     VALUES ($1, $2, 1, 'ended', 'completed', $3, $3, $4, 0.02)";
const INSERT_EVENT: &str =
    "INSERT INTO events (task_number, handoff_number, occurred_at, type, data)
     VALUES ($1, $2, $3, $4, $5)";
const INSERT_MOVE: &str = "INSERT INTO messages (chain_number, task_number, handoff_number, occurred_at, type, data, content)
     VALUES ($1, $1, $2, $3, 'handoff', $4, $5)";
const INSERT_PROMPT: &str = "INSERT INTO messages (chain_number, task_number, handoff_number, occurred_at, type, is_prompt, content)
     VALUES ($1, $1, $2, $3, 'user_message', 1, '')";
const INSERT_SESSION_HANDOFF: &str =
    "INSERT INTO session_handoffs (session_number, handoff_number, from_agent, to_agent,
                                                                    harness_trace_id, history)
     VALUES ($1, $2, $3, $4, $5, $6)";

const INSERT_OPEN_HANDOFF: &str =
    "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, prompt)
     VALUES ($1, $2, 1, $3, 'delegate', $4, $5)";
const INSERT_QUEUED_RUN: &str = "INSERT INTO runs (id, handoff_number, attempt, state, queued_at)
     VALUES ($1, $2, 1, 'queued', $3)";

/// An open session.
struct Session {
    number: i64,
    task_number: i64,
    task_id: String,
    last_handoff: Option<i64>,
}

pub fn session_id(session: usize) -> String {
    format!("sess_{session:06}")
}

/// Returns the harness's trace id of a hand-off.
pub fn trace(session: usize, nth: usize) -> String {
    format!("harness-{session:06}-{}", nth / PER_TRACE)
}

/// Returns the agents that hand off and receive. The agents take turns, in a different order per session.
pub fn agents(session: usize, nth: usize) -> (&'static str, &'static str) {
    let stride = 1 + session % (AGENTS.len() - 1);
    let agent = |nth: usize| AGENTS[(session + nth * stride) % AGENTS.len()];
    (agent(nth), agent(nth + 1))
}

/// Returns the conversation before a hand-off.
pub fn history(session: usize, nth: usize) -> serde_json::Value {
    let said = (0..2 + nth / PER_MESSAGE).map(|message| {
        if message % 2 == 0 {
            json!({"role": "user", "content": fill::DESCRIPTION})
        } else {
            let (_, agent) = agents(session, message);
            json!({"role": "assistant", "content": OUTPUT, "agentId": agent})
        }
    });
    said.collect()
}

/// Fills an empty database in rounds: each session moves once per round. Returns the start of the last round.
pub fn add_sessions(database: &Path, sessions: usize) -> i64 {
    let pace = |handoffs: usize| PACE * integer(handoffs);
    let begin = fill::now() - pace(sessions * (PER_SESSION + 1));
    let at = |session: usize, nth: usize| begin + pace(nth * sessions + session);
    fill::at_once(database, |connection| {
        let mut open_sessions: Vec<Session> = (0..sessions)
            .map(|session| {
                add_session(
                    connection,
                    session,
                    at(session, 0),
                    at(session, PER_SESSION),
                )
            })
            .collect();
        for nth in 0..PER_SESSION {
            for (session, on) in open_sessions.iter_mut().enumerate() {
                let times = (at(session, nth), at(session, nth + 1));
                add_move(connection, on, session, nth, times);
            }
        }
    });
    at(0, PER_SESSION - 1)
}

fn add_session(connection: &Connection, session: usize, begin: i64, end: i64) -> Session {
    let (id, task_id) = (session_id(session), fill::new_id());
    let task_number = fill::insert(
        connection,
        INSERT_TASK,
        params![task_id, begin, end, id, fill::WORKSPACE, fill::DESCRIPTION],
    );
    Session {
        number: fill::insert(connection, INSERT_SESSION, params![id, task_number, begin]),
        task_number,
        task_id,
        last_handoff: None,
    }
}

/// Adds a hand-off with all rows that the server writes, in the same order.
fn add_move(
    connection: &Connection,
    on: &mut Session,
    session: usize,
    nth: usize,
    (begin, end): (i64, i64),
) {
    let (from, to) = agents(session, nth);
    let add_event = |handoff: Option<i64>, event_type: &str, data: serde_json::Value| {
        let event = params![on.task_number, handoff, begin, event_type, data.to_string()];
        fill::insert(connection, INSERT_EVENT, event);
    };
    let routed_to = format!("Routed to {to}");
    let data = json!({"fromAgent": from, "toAgent": to, "taskId": on.task_id, "reason": REASON});
    fill::insert(
        connection,
        INSERT_MOVE,
        params![
            on.task_number,
            on.last_handoff,
            begin,
            data.to_string(),
            routed_to
        ],
    );
    add_event(
        on.last_handoff,
        "message_added",
        json!({"type": "handoff", "content": routed_to}),
    );
    if on.last_handoff.is_some() {
        add_event(
            on.last_handoff,
            "agent_handoff_completed",
            json!({"agentName": from, "outputLength": OUTPUT.len().to_string()}),
        );
    }
    let handoff = fill::insert(
        connection,
        INSERT_HANDOFF,
        params![
            fill::new_id(),
            on.task_number,
            integer(nth + 1),
            to,
            from,
            begin,
            end,
            REASON,
            OUTPUT,
            fill::DESCRIPTION,
            on.last_handoff
        ],
    );
    fill::insert(
        connection,
        INSERT_RUN,
        params![fill::new_id(), handoff, begin, end],
    );
    fill::insert(
        connection,
        INSERT_PROMPT,
        params![on.task_number, handoff, begin],
    );
    add_event(
        Some(handoff),
        "agent_handoff_started",
        json!({"agentName": to}),
    );
    fill::insert(
        connection,
        INSERT_SESSION_HANDOFF,
        params![
            on.number,
            handoff,
            from,
            to,
            trace(session, nth),
            history(session, nth).to_string()
        ],
    );
    on.last_handoff = Some(handoff);
}

/// Adds tasks with an open hand-off to the first agent of every chain.
pub fn add_open_tasks(connection: &Connection, count: usize) -> Vec<String> {
    let (agent, _) = agents(0, 0);
    let add = || {
        let (id, task) = fill::add_task(connection, "active");
        let at = fill::now();
        let handoff = fill::insert(
            connection,
            INSERT_OPEN_HANDOFF,
            params![fill::new_id(), task, agent, at, fill::DESCRIPTION],
        );
        let run = params![fill::new_id(), handoff, at];
        fill::insert(connection, INSERT_QUEUED_RUN, run);
        fill::insert(connection, INSERT_PROMPT, params![task, handoff, at]);
        let started = json!({"agentName": agent}).to_string();
        let event = params![task, handoff, at, "agent_handoff_started", started];
        fill::insert(connection, INSERT_EVENT, event);
        id
    };
    fill::in_transaction(connection, || (0..count).map(|_| add()).collect())
}

fn integer(count: usize) -> i64 {
    i64::try_from(count).expect("it is a small number")
}
