//! Measures what a hand-off costs, beside what it would cost otherwise.
//!
//! Absolute numbers belong to a machine and its disk, so every table has ratios of things that were measured in turn
//! in the same run. Nothing is asserted.
//!
//! `cargo bench --bench handoffs [-- throughput|sizes|memory]`; `CHORUS_BENCH_QUICK=1` makes everything small, and
//! `CHORUS_BENCH_TASKS` says how many tasks the large ledger has.

#![expect(
    clippy::print_stdout,
    reason = "the tables are what this program is for"
)]

mod memory;
mod raw;
mod sizes;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other benchmarks use the rest")]
mod support;
mod throughput;

use std::time::Duration;

/// Hand-offs are only recorded here; no agent starts.
const NO_RUNS: &[&str] = &["--max-runs", "0"];

/// How much is measured.
struct Plan {
    /// How long one point is measured, in each round.
    window: Duration,
    /// How many times each point is measured.
    rounds: usize,
    /// How many times each request is timed against a ledger of either size.
    samples: usize,
    /// How many tasks the large ledger has.
    tasks: usize,
    /// How many event streams are held open.
    streams: usize,
    /// How many long polls are held open.
    waiters: usize,
}

impl Plan {
    fn from_environment() -> Self {
        let plan = if std::env::var_os("CHORUS_BENCH_QUICK").is_some() {
            Self {
                window: Duration::from_millis(200),
                rounds: 1,
                samples: 100,
                tasks: 20_000,
                streams: 200,
                waiters: 200,
            }
        } else {
            Self {
                window: Duration::from_secs(1),
                rounds: 5,
                samples: 1000,
                tasks: 1_000_000,
                streams: 1000,
                waiters: 10_000,
            }
        };
        let tasks = match std::env::var("CHORUS_BENCH_TASKS") {
            Ok(tasks) => tasks.parse().expect("CHORUS_BENCH_TASKS is a number"),
            Err(_) => plan.tasks,
        };
        Self { tasks, ..plan }
    }
}

fn main() {
    let plan = Plan::from_environment();
    // Cargo itself passes --bench.
    let asked: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let is_asked = |section: &str| asked.is_empty() || asked.iter().any(|name| name == section);
    // One thread for all clients: they share the cores with the server and should not crowd it out.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built");
    if is_asked("throughput") {
        runtime.block_on(throughput::run(&plan));
    }
    if is_asked("sizes") {
        runtime.block_on(sizes::run(&plan));
    }
    if is_asked("memory") {
        runtime.block_on(memory::run(&plan));
    }
}
