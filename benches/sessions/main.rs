//! Measures the cost of sessions and transfers, by ledger size and compared with plain hand-offs.
//!
//! Absolute numbers depend on the machine and its disk, so every table has ratios of measurements taken in turn in the same
//! run. Nothing is asserted.
//!
//! `cargo bench --bench sessions [-- sizes|analytics|throughput|compare]`; `CHORUS_BENCH_QUICK=1` makes everything small, and
//! `CHORUS_BENCH_HANDOFFS` sets the number of hand-offs in the large ledger.
//!
//! `CHORUS_BENCH_AGAINST=PATH` names another build of chorus. Both builds are then measured in turn, and another table
//! shows the speed ratio; `-- compare` prints only that table. `CHORUS_BENCH_PROGRAM=PATH` replaces this build, and
//! `CHORUS_BENCH_ROUNDS` sets the number of rounds: see `support/compare.rs`.

#![expect(
    clippy::print_stdout,
    reason = "printing tables is the purpose of this program"
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
use support::settings::{is_quick, is_selected, runtime, setting};

/// Hand-offs are only recorded; no agent starts.
const NO_RUNS: &[&str] = &["--max-runs", "0"];

struct Plan {
    /// The duration of one measurement of the throughput.
    window: Duration,
    /// Measurements per point.
    rounds: usize,
    /// Measurements of each request per ledger.
    samples: usize,
    /// Hand-offs in the large ledger.
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
    if is_selected("sizes") || is_selected("analytics") {
        let mut subjects = runtime.block_on(subject::fill(&plan));
        if is_selected("sizes") {
            runtime.block_on(sizes::run(&plan, &mut subjects));
        }
        if is_selected("analytics") {
            runtime.block_on(analytics::run(&plan, &mut subjects));
        }
    }
    if is_selected("throughput") {
        runtime.block_on(throughput::run(&plan));
    }
    if let Some(comparison) = Comparison::from_environment() {
        runtime.block_on(compare::run(&plan, &comparison));
    }
}
