//! Latency with a small and a large ledger.

use std::time::{Duration, Instant};

use super::support::fill::{self, Ledger};
use super::support::http::{Connection, Doors, uri};
use super::support::median;
use super::support::server::{DataDir, Server};
use super::{NO_RUNS, Plan};

const SMALL: usize = 1000;

/// The number of consecutive requests to one server before the other's turn.
const ROUND: usize = 10;

#[derive(Clone, Copy)]
enum Request {
    Task,
    FirstPage,
    MiddlePage,
    Handoff,
}

const REQUESTS: [(Request, &str); 4] = [
    (Request::Task, "GET a task with a chain of 10"),
    (Request::FirstPage, "GET 100 summaries, from the first"),
    (Request::MiddlePage, "GET 100 summaries, from the middle"),
    (Request::Handoff, "start + complete"),
];

/// A ledger with its server and a client.
struct Subject {
    ledger: Ledger,
    connection: Connection,
    _server: Server,
    _data_dir: DataDir,
}

pub async fn run(plan: &Plan) {
    let large = plan.tasks.max(SMALL);
    let began = Instant::now();
    let ledgers = [SMALL, large].map(|tasks| {
        let data_dir = DataDir::create();
        let ledger = fill::add_ledger(&data_dir.database(), tasks);
        (data_dir, ledger)
    });
    let filled = began.elapsed();
    let mut subjects = Vec::new();
    for (data_dir, ledger) in ledgers {
        subjects.push(Subject::start(data_dir, ledger).await);
    }
    println!("Median latency of one client, by the number of tasks");
    println!("({large} tasks were inserted in {filled:.0?})");
    println!(
        "{:<36} {:>12} {:>12} {:>6}",
        "",
        format!("{SMALL} tasks"),
        format!("{large} tasks"),
        "ratio"
    );
    for (request, name) in REQUESTS {
        let mut samples = [Vec::new(), Vec::new()];
        for round in 0..plan.samples / ROUND {
            for (subject, samples) in subjects.iter_mut().zip(&mut samples) {
                for _ in 0..ROUND {
                    samples.push(subject.time(request, round).await);
                }
            }
        }
        let [small, large] = samples.map(|mut samples| median(&mut samples).as_secs_f64() * 1e6);
        println!(
            "{name:<36} {small:>9.0} µs {large:>9.0} µs {:>6.2}",
            large / small
        );
    }
    println!();
}

impl Subject {
    async fn start(data_dir: DataDir, ledger: Ledger) -> Self {
        let server = Server::start(&data_dir, NO_RUNS);
        Self {
            ledger,
            connection: Connection::open(server.address).await,
            _server: server,
            _data_dir: data_dir,
        }
    }

    /// Times one request. Each round uses another task.
    async fn time(&mut self, request: Request, round: usize) -> Duration {
        let Ledger {
            with_chain,
            with_one,
            middle,
        } = &self.ledger;
        let path = match request {
            Request::Task => format!("/api/tasks/{}", with_chain[round % with_chain.len()]),
            Request::FirstPage => "/api/tasks?view=summary&limit=100".to_owned(),
            Request::MiddlePage => format!("/api/tasks?view=summary&limit=100&after={middle}"),
            Request::Handoff => {
                let doors = Doors::of(&with_one[round % with_one.len()]);
                let began = Instant::now();
                self.connection.hand_off(&doors).await;
                return began.elapsed();
            }
        };
        let path = uri(&path);
        let began = Instant::now();
        self.connection.get(&path).await;
        began.elapsed()
    }
}
