//! Measures how fast ready tasks are listed, and how fast tasks are routed.
//!
//! Absolute numbers depend on the machine and its disk, so every table has ratios of measurements taken in turn in the same
//! run. Nothing is asserted.
//!
//! `cargo bench --bench routing [-- ready|routed|compare]`; `CHORUS_BENCH_QUICK=1` makes everything small, and
//! `CHORUS_BENCH_TASKS` sets the number of tasks in the large ledger.
//!
//! `CHORUS_BENCH_AGAINST=PATH` names another build of chorus. Both builds are then measured in turn, and another table
//! shows the speed ratio; `-- compare` prints only that table. `CHORUS_BENCH_PROGRAM=PATH` replaces this build, and
//! `CHORUS_BENCH_ROUNDS` sets the number of rounds: see `support/compare.rs`.

#![expect(
    clippy::print_stdout,
    reason = "printing tables is the purpose of this program"
)]

mod compare;
mod ready;
mod routed;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other benchmarks use the rest")]
mod support;

use support::compare::Comparison;
use support::settings::{is_quick, is_selected, runtime, setting};

struct Plan {
    /// Tasks in the large ledger.
    tasks: usize,
    /// Measurements of each request.
    samples: usize,
    /// Routed tasks.
    routed: usize,
    /// Measurements of the routing.
    rounds: usize,
    /// Routed tasks in one round of a comparison.
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
    if is_selected("ready") {
        runtime.block_on(ready::run(&plan));
    }
    if is_selected("routed") {
        runtime.block_on(routed::run(&plan));
    }
    if let Some(comparison) = Comparison::from_environment() {
        runtime.block_on(compare::run(&plan, &comparison));
    }
}
