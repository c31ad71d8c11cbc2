//! Measures what a hand-off costs, beside what it would cost otherwise.
//!
//! Absolute numbers belong to a machine and its disk, so every table has ratios of things that were measured in turn
//! in the same run. Nothing is asserted.
//!
//! `cargo bench --bench handoffs [-- throughput|sizes|memory|compare]`; `CHORUS_BENCH_QUICK=1` makes everything small, and
//! `CHORUS_BENCH_TASKS` says how many tasks the large ledger has.
//!
//! `CHORUS_BENCH_AGAINST=PATH` names another build of chorus. Both builds are then measured in turn, and one more table
//! shows how many times as fast this one is; `-- compare` prints that table alone. `CHORUS_BENCH_PROGRAM=PATH` replaces
//! this build, and `CHORUS_BENCH_ROUNDS` says how many rounds there are: see `support/compare.rs`.

#![expect(
    clippy::print_stdout,
    reason = "the tables are what this program is for"
)]

mod compare;
mod memory;
mod raw;
mod sizes;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other benchmarks use the rest")]
mod support;
mod throughput;

use std::time::Duration;

use support::compare::Comparison;
use support::settings::{is_asked, is_quick, runtime, setting};

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
        let plan = if is_quick() {
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
        let tasks = setting("CHORUS_BENCH_TASKS", plan.tasks);
        Self { tasks, ..plan }
    }
}

fn main() {
    let plan = Plan::from_environment();
    let runtime = runtime();
    if is_asked("throughput") {
        runtime.block_on(throughput::run(&plan));
    }
    if is_asked("sizes") {
        runtime.block_on(sizes::run(&plan));
    }
    if is_asked("memory") {
        runtime.block_on(memory::run(&plan));
    }
    if let Some(comparison) = Comparison::from_environment() {
        runtime.block_on(compare::run(&comparison));
    }
}
