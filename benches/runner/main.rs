//! Measures what it costs that a server runs an agent, beside starting the same program oneself.
//!
//! Absolute numbers belong to a machine and its disk, so every table has ratios of things that were measured in turn
//! in the same run. Nothing is asserted.
//!
//! `cargo bench --bench runner [-- latency|throughput|memory|compare]`; `CHORUS_BENCH_QUICK=1` makes everything small.
//!
//! `CHORUS_BENCH_AGAINST=PATH` names another build of chorus. Both builds are then measured in turn, and one more table
//! shows how many times as fast this one is; `-- compare` prints that table alone. `CHORUS_BENCH_PROGRAM=PATH` replaces
//! this build, and `CHORUS_BENCH_ROUNDS` says how many rounds there are: see `support/compare.rs`.
//!
//! The agent is this program itself, started with `agent MILLISECONDS`.

#![expect(
    clippy::print_stdout,
    reason = "the tables are what this program is for"
)]

mod agent;
mod compare;
mod latency;
mod memory;
mod subject;
mod supervised;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other benchmarks use the rest")]
mod support;
mod throughput;

use std::time::Duration;

use support::compare::Comparison;
use support::settings::{arguments, is_asked, is_quick, runtime};

/// How much is measured.
struct Plan {
    /// How many agents are timed one after the other.
    samples: usize,
    /// How long one point of the throughput is measured, in each round.
    window: Duration,
    /// How many times each point is measured.
    rounds: usize,
    /// How many agents work while memory is measured.
    runs: usize,
}

impl Plan {
    fn from_environment() -> Self {
        if is_quick() {
            Self {
                samples: 30,
                window: Duration::from_millis(500),
                rounds: 1,
                runs: 50,
            }
        } else {
            Self {
                samples: 500,
                window: Duration::from_secs(2),
                rounds: 5,
                runs: 200,
            }
        }
    }
}

fn main() {
    let first = agent::now();
    if let [mode, milliseconds] = arguments().as_slice()
        && mode == agent::MODE
    {
        return agent::work(first, milliseconds);
    }
    let plan = Plan::from_environment();
    let runtime = runtime();
    if is_asked("latency") {
        runtime.block_on(latency::run(&plan));
    }
    if is_asked("throughput") {
        runtime.block_on(throughput::run(&plan));
    }
    if is_asked("memory") {
        runtime.block_on(memory::run(&plan));
    }
    if let Some(comparison) = Comparison::from_environment() {
        runtime.block_on(compare::run(&comparison));
    }
}
