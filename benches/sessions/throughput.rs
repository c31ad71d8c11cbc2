//! Transfers and moves of sessions per second, compared with plain hand-offs.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use hyper::body::Bytes;
use rusqlite::Connection as Database;
use serde::Deserialize;
use serde_json::json;

use super::ledger::{self, AGENTS, REASON};
use super::support::http::{Connection, Doors, uri};
use super::support::server::{DataDir, Server, this_program};
use super::support::{fill, median, whole};
use super::{NO_RUNS, Plan};

pub const CLIENTS: [usize; 3] = [1, 8, 64];

/// The number of hand-offs per task and moves per session, so that chains stay short.
const PER_TASK: usize = 10;

/// The number of transfers per task, each of which makes the family one task deeper.
const PER_CHAIN: usize = 3;

/// More operations per second than any server reaches, which sets the number of tasks created beforehand.
const CEILING: f64 = 30_000.0;

/// The repeated operation.
#[derive(Clone, Copy)]
pub enum Work {
    /// Starts and completes a hand-off, in two requests.
    Plain,
    /// Transfers control by a tool, in one request.
    Transfer,
    /// Records a session's move without running the agent.
    Record,
    /// Moves a session.
    Move,
}

impl Work {
    const ALL: [Self; 4] = [Self::Plain, Self::Transfer, Self::Record, Self::Move];

    const fn times(self) -> usize {
        match self {
            Self::Transfer => PER_CHAIN,
            Self::Plain | Self::Record | Self::Move => PER_TASK,
        }
    }
}

/// A server, and a connection that adds tasks directly to its database.
pub struct Subject {
    work: Work,
    bodies: Vec<Bytes>,
    sessions: Cell<usize>,
    database: Database,
    pub server: Server,
    _data_dir: DataDir,
}

/// The part of an answer with the task that now has control.
#[derive(Deserialize)]
struct Answer {
    data: Child,
}

#[derive(Deserialize)]
struct Child {
    id: String,
}

pub async fn run(plan: &Plan) {
    println!(
        "Per second, over HTTP: hand-offs (start + complete), transfers by a tool, moves of sessions"
    );
    println!(
        "{:>7} {:>11} {:>12} {:>17} {:>16} {:>16} {:>14} {:>13}",
        "clients",
        "hand-offs/s",
        "transfers/s",
        "invoke=false/s",
        "invoke=true/s",
        "transfers÷plain",
        "false÷plain",
        "true÷plain"
    );
    let mut subjects = Vec::new();
    for work in Work::ALL {
        subjects.push(Subject::start(this_program(), work).await);
    }
    for clients in CLIENTS {
        let mut rounds = Vec::new();
        for _ in 0..plan.rounds {
            let mut round = [0.0; Work::ALL.len()];
            for (subject, per_second) in subjects.iter().zip(&mut round) {
                *per_second = subject.measure(clients, plan.window).await;
            }
            rounds.push(round);
        }
        // Ratios are taken within a round, so that other load on the machine affects all of them.
        let middle =
            |of: &dyn Fn(&[f64; 4]) -> f64| median(&mut rounds.iter().map(of).collect::<Vec<_>>());
        let [handoffs, transfers, recorded, moved] =
            [0, 1, 2, 3].map(|work| middle(&|round| round[work]));
        let [by_transfers, by_recorded, by_moved] =
            [1, 2, 3].map(|work| middle(&|round| round[work] / round[0]));
        println!(
            "{clients:>7} {handoffs:>11.0} {transfers:>12.0} {recorded:>17.0} {moved:>16.0} {by_transfers:>16.2} {by_recorded:>14.2} {by_moved:>13.2}"
        );
    }
    println!();
}

impl Subject {
    pub async fn start(program: &Path, work: Work) -> Self {
        let data_dir = DataDir::create_with(program);
        let server = Server::start(&data_dir, NO_RUNS);
        let mut operator = Connection::open(server.address)
            .await
            .with_token_of(&data_dir);
        for agent in AGENTS {
            operator.post(&uri("/api/tools"), tool_to(agent)).await;
        }
        Self {
            work,
            bodies: (0..work.times()).map(|nth| body(work, nth)).collect(),
            sessions: Cell::new(0),
            database: fill::open(&data_dir.database()),
            server,
            _data_dir: data_dir,
        }
    }

    /// Measures operations per second.
    pub async fn measure(&self, clients: usize, window: Duration) -> f64 {
        let warm_up = window / 4;
        let tasks = RefCell::new(self.make_tasks(clients, window + warm_up));
        let mut connections = Vec::new();
        for _ in 0..clients {
            connections.push(Connection::open(self.server.address).await);
        }
        let begin = Instant::now() + warm_up;
        let end = begin + window;
        let work = connections
            .into_iter()
            .map(|connection| self.work_until(end, connection, &tasks));
        let done: Vec<_> = join_all(work).await.into_iter().flatten().collect();
        let within = done.iter().filter(|at| (begin..end).contains(at)).count();
        f64::from(u32::try_from(within).expect("it is below the ceiling")) / window.as_secs_f64()
    }

    /// Creates tasks, tasks with an open hand-off, or only ids of sessions.
    fn make_tasks(&self, clients: usize, window: Duration) -> Vec<String> {
        let times = u32::try_from(self.work.times()).expect("it is a small number");
        let enough = clients + whole(window.as_secs_f64() * CEILING / f64::from(times));
        match self.work {
            Work::Plain => fill::add_tasks(&self.database, enough),
            Work::Transfer => ledger::add_open_tasks(&self.database, enough),
            Work::Record | Work::Move => {
                let first = self.sessions.get();
                self.sessions.set(first + enough);
                (first..first + enough).map(ledger::session_id).collect()
            }
        }
    }

    /// Works on task after task. Returns the end of each operation.
    async fn work_until(
        &self,
        end: Instant,
        mut connection: Connection,
        tasks: &RefCell<Vec<String>>,
    ) -> Vec<Instant> {
        let mut done = Vec::new();
        loop {
            let mut task = tasks.borrow_mut().pop().expect("enough tasks were added");
            let doors = Doors::of(&task);
            let moves = uri(&format!("/api/sessions/{task}/handoffs"));
            for (nth, body) in self.bodies.iter().enumerate() {
                if Instant::now() >= end {
                    return done;
                }
                match self.work {
                    Work::Plain => connection.hand_off(&doors).await,
                    Work::Transfer => {
                        let (_, to) = ledger::agents(0, nth);
                        let path = uri(&format!("/api/tasks/{task}/tools/{}", tool_name(to)));
                        let answer = connection.post(&path, body.clone()).await;
                        let answer: Answer =
                            serde_json::from_str(&answer).expect("it is a task in JSON");
                        task = answer.data.id;
                    }
                    Work::Record | Work::Move => {
                        connection.post(&moves, body.clone()).await;
                    }
                }
                done.push(Instant::now());
            }
        }
    }
}

fn tool_name(agent: &str) -> String {
    format!("handoff_to_{}", agent.replace('-', "_"))
}

/// Returns a tool that transfers control to an agent.
fn tool_to(agent: &str) -> Bytes {
    let variable = |name: &str| json!({"name": name, "type": "string", "required": true, "description": "What it is called"});
    let tool = json!({
        "name": tool_name(agent),
        "description": "Hand off to the agent that knows this component.",
        "targetAgent": agent,
        "contextVariables": [variable("component"), variable("finding")],
        "handoffInstructions": "Say in two sentences what was wrong.",
    });
    tool.to_string().into()
}

/// Returns the body of the nth request for a task or a session.
fn body(work: Work, nth: usize) -> Bytes {
    let body = match work {
        Work::Plain => json!({}),
        Work::Transfer => json!({"component": "parser", "finding": REASON}),
        Work::Record | Work::Move => {
            let (from, to) = ledger::agents(0, nth);
            json!({
                "fromAgent": from,
                "toAgent": to,
                "reason": REASON,
                "userIntent": fill::DESCRIPTION,
                "conversationHistory": ledger::history(0, nth),
                "invoke": matches!(work, Work::Move),
            })
        }
    };
    body.to_string().into()
}
