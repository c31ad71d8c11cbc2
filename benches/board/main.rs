//! Measures the board and the list of everything that waits for a person, in a small and a large ledger.
//!
//! Absolute numbers depend on the machine, so every line has the ratio of measurements taken in turn in the same run. Nothing is
//! asserted. A filter looks at no more than 10,000 tasks of a column: its ratio stops growing there.
//!
//! `cargo bench --bench board`; `CHORUS_BENCH_QUICK=1` makes everything small, and `CHORUS_BENCH_TASKS` sets the number of tasks in the
//! large ledger.

#![expect(
    clippy::print_stdout,
    reason = "printing tables is the purpose of this program"
)]

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other benchmarks use the rest")]
mod support;

use std::time::{Duration, Instant};

use rusqlite::{Connection as Database, params};
use support::http::{Connection, uri};
use support::server::{DataDir, Server, this_program};
use support::settings::{is_quick, runtime, setting};
use support::{fill, median};

/// Tasks in the small ledger.
const SMALL: usize = 1000;

const REQUESTS: [(&str, &str); 5] = [
    ("/api/board", "first page of the board"),
    ("/api/board?text=nowhere", "board, text that no task has"),
    ("/api/board?agent=developer", "board, tasks of an agent"),
    ("/api/attention", "everything that waits"),
    (
        "/api/tasks?view=summary&limit=50",
        "50 summaries, for comparison",
    ),
];

const INSERT_TASK: &str = "INSERT INTO tasks (id, status, created_at, updated_at, source_type, source_user_id, agent_workspace, description,
                                              failure_message)
     VALUES ($1, $2, $3, $3, 'api', 'anonymous', $4, $5, $6)";
const INSERT_HANDOFF: &str = "INSERT INTO handoffs (id, task_number, position, agent_name, mode, started_at, completed_at, outcome, output, prompt)
     VALUES ($1, $2, 1, 'developer', 'delegate', $3, $3, $4, 'out', 'p')";
const INSERT_RUN: &str = "INSERT INTO runs (id, handoff_number, attempt, state, outcome, queued_at, started_at, ended_at, cost_usd)
     VALUES ($1, $2, 1, 'ended', 'completed', $3, $3, $3, 0.01)";
const INSERT_MESSAGE: &str =
    "INSERT INTO messages (chain_number, task_number, handoff_number, occurred_at, type, content)
     VALUES ($1, $1, $2, $3, 'assistant_message', 'I have looked at it.')";
const INSERT_REQUEST: &str = "INSERT INTO requests (id, kind, state, priority, created_at, updated_at, source_type, title, body)
     VALUES ($1, 'fix', 'needs', 2, $2, $2, 'person', 'Mend it', 'All of it')";

const STATUSES: [&str; 5] = ["pending", "active", "waiting", "completed", "failed"];

/// A ledger with its server and a client.
struct Subject {
    connection: Connection,
    _server: Server,
    _data_dir: DataDir,
}

fn main() {
    runtime().block_on(run());
}

async fn run() {
    let (tasks, samples) = if is_quick() {
        (20_000, 20)
    } else {
        (100_000, 500)
    };
    let large = setting("CHORUS_BENCH_TASKS", tasks).max(SMALL);
    let mut subjects = [Subject::start(SMALL).await, Subject::start(large).await];
    println!("Median latency of one client, by the number of tasks");
    println!(
        "{:<36} {:>13} {:>13} {:>6}",
        "",
        format!("{SMALL} tasks"),
        format!("{large} tasks"),
        "ratio"
    );
    for (path, name) in REQUESTS {
        let mut taken = [Vec::new(), Vec::new()];
        for _ in 0..samples {
            for (subject, taken) in subjects.iter_mut().zip(&mut taken) {
                taken.push(subject.time(path).await);
            }
        }
        let [small, large] = taken.map(|mut taken| median(&mut taken).as_secs_f64() * 1e6);
        println!(
            "{name:<36} {small:>10.0} µs {large:>10.0} µs {:>6.2}",
            large / small
        );
    }
}

impl Subject {
    async fn start(tasks: usize) -> Self {
        let data_dir = DataDir::create_with(this_program());
        fill::at_once(&data_dir.database(), |database| fill_in(database, tasks));
        let server = Server::start(&data_dir, &["--max-runs", "0", "--no-route"]);
        Self {
            connection: Connection::open(server.address).await,
            _server: server,
            _data_dir: data_dir,
        }
    }

    async fn time(&mut self, path: &str) -> Duration {
        let path = uri(path);
        let began = Instant::now();
        self.connection.get(&path).await;
        began.elapsed()
    }
}

/// Fills a ledger with tasks in every column; every tenth has a failed run, and every twentieth comes with a request.
fn fill_in(database: &Database, tasks: usize) {
    let at = fill::now();
    for nth in 0..tasks {
        let status = STATUSES[nth % STATUSES.len()];
        let failure = (status == "failed").then_some("No");
        let arguments = params![
            fill::new_id(),
            status,
            at,
            fill::WORKSPACE,
            fill::DESCRIPTION,
            failure
        ];
        let task = fill::insert(database, INSERT_TASK, arguments);
        if status != "pending" {
            let outcome = if nth % 10 == 2 { "failed" } else { "completed" };
            let handoff = params![fill::new_id(), task, at, outcome];
            let handoff = fill::insert(database, INSERT_HANDOFF, handoff);
            fill::insert(database, INSERT_RUN, params![fill::new_id(), handoff, at]);
            fill::insert(database, INSERT_MESSAGE, params![task, handoff, at]);
        }
        if nth % 20 == 0 {
            fill::insert(database, INSERT_REQUEST, params![fill::new_id(), at]);
        }
    }
}
