//! The start of a run, compared with another build.

use super::agent;
use super::latency::milliseconds;
use super::subject::{self, Subject};
use super::support::compare::{self, Comparison, Unit};
use super::support::http::{Connection, Doors};
use super::support::median;
use super::support::server::Server;

/// The agent's working time in milliseconds, long enough for its start to be over.
const WORK: u64 = 10;

/// More than one, so that a run never waits for the slot of the one before.
const MAX_RUNS: usize = 4;

/// Measured runs per round.
const SAMPLES: usize = 5;

pub async fn run(comparison: &Comparison) {
    comparison.print_header("From the request to the agent's first instruction");
    let mut pair = comparison
        .programs()
        .map(|program| Subject::start(program, WORK, MAX_RUNS));
    for (name, chain) in [
        ("start of a run, new task", 0),
        ("start of a run, task with a chain of 20", 20),
    ] {
        let measure = async |subject: &mut Subject| {
            let tasks = subject.add_chains(SAMPLES, chain);
            time_starts(subject.connect().await, tasks).await
        };
        comparison
            .row(name, Unit::Milliseconds, &mut pair, measure)
            .await;
    }
    println!();
}

/// Returns the median time from a hand-off to the agent's first instruction, in milliseconds.
async fn time_starts(mut connection: Connection, tasks: Vec<Doors>) -> f64 {
    let mut starts = Vec::new();
    for doors in tasks {
        let began = agent::now();
        let stamps = subject::hand_off_and_wait(&mut connection, &doors).await;
        starts.push(milliseconds(stamps.first.saturating_sub(began)));
    }
    median(&mut starts)
}

impl compare::Subject for Subject {
    fn server(&mut self) -> &mut Server {
        &mut self.server
    }
}
