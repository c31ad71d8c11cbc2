//! Measures how fast it is known what is ready, and how fast tasks find their agents.
//!
//! Absolute numbers belong to a machine and its disk, so every table has ratios of things that were measured in turn
//! in the same run. Nothing is asserted.
//!
//! `cargo bench --bench routing [-- ready|routed|compare]`; `CHORUS_BENCH_QUICK=1` makes everything small, and
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
mod ready;
mod routed;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other benchmarks use the rest")]
mod support;

use support::compare::Comparison;
use support::settings::{is_asked, is_quick, runtime, setting};

/// How much is measured.
struct Plan {
    /// How many tasks the large ledger has.
    tasks: usize,
    /// How many times each request is timed.
    samples: usize,
    /// How many tasks are given to agents.
    routed: usize,
    /// How many times that is timed.
    rounds: usize,
    /// How many tasks are given to agents in one round of a comparison.
    compared: usize,
}

impl Plan {
    fn from_environment() -> Self {
        let plan = if is_quick() {
            Self {
                tasks: 20_000,
                samples: 200,
                routed: 200,
                rounds: 1,
                compared: 200,
            }
        } else {
            Self {
                tasks: 1_000_000,
                samples: 2_000,
                routed: 2_000,
                rounds: 3,
                compared: 600,
            }
        };
        let tasks = setting("CHORUS_BENCH_TASKS", plan.tasks);
        Self { tasks, ..plan }
    }
}

fn main() {
    let plan = Plan::from_environment();
    let runtime = runtime();
    if is_asked("ready") {
        runtime.block_on(ready::run(&plan));
    }
    if is_asked("routed") {
        runtime.block_on(routed::run(&plan));
    }
    if let Some(comparison) = Comparison::from_environment() {
        runtime.block_on(compare::run(&plan, &comparison));
    }
}
