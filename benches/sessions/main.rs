//! Measures what sessions and transfers cost, beside fewer of them and beside plain hand-offs.
//!
//! Absolute numbers belong to a machine and its disk, so every table has ratios of things that were measured in turn
//! in the same run. Nothing is asserted.
//!
//! `cargo bench --bench sessions [-- sizes|analytics|throughput|compare]`; `CHORUS_BENCH_QUICK=1` makes everything small, and
//! `CHORUS_BENCH_HANDOFFS` says how many hand-offs the large ledger has.
//!
//! `CHORUS_BENCH_AGAINST=PATH` names another build of chorus. Both builds are then measured in turn, and one more table
//! shows how many times as fast this one is; `-- compare` prints that table alone. `CHORUS_BENCH_PROGRAM=PATH` replaces
//! this build, and `CHORUS_BENCH_ROUNDS` says how many rounds there are: see `support/compare.rs`.

#![expect(
    clippy::print_stdout,
    reason = "the tables are what this program is for"
)]

mod analytics;
mod compare;
mod ledger;
mod sizes;
mod subject;
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
    /// How long one point of the throughput is measured, in each round.
    window: Duration,
    /// How many times each point is measured.
    rounds: usize,
    /// How many times each request is timed against a ledger of either size.
    samples: usize,
    /// How many hand-offs the large ledger has.
    handoffs: usize,
}

impl Plan {
    fn from_environment() -> Self {
        let plan = if is_quick() {
            Self {
                window: Duration::from_millis(200),
                rounds: 1,
                samples: 100,
                handoffs: 20_000,
            }
        } else {
            Self {
                window: Duration::from_secs(1),
                rounds: 5,
                samples: 10_000,
                handoffs: 1_000_000,
            }
        };
        let handoffs = setting("CHORUS_BENCH_HANDOFFS", plan.handoffs);
        Self { handoffs, ..plan }
    }
}

fn main() {
    let plan = Plan::from_environment();
    let runtime = runtime();
    if is_asked("sizes") || is_asked("analytics") {
        let mut subjects = runtime.block_on(subject::fill(&plan));
        if is_asked("sizes") {
            runtime.block_on(sizes::run(&plan, &mut subjects));
        }
        if is_asked("analytics") {
            runtime.block_on(analytics::run(&plan, &mut subjects));
        }
    }
    if is_asked("throughput") {
        runtime.block_on(throughput::run(&plan));
    }
    if let Some(comparison) = Comparison::from_environment() {
        runtime.block_on(compare::run(&plan, &comparison));
    }
}
