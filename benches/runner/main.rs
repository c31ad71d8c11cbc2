//! Measures the cost of running an agent with the server, compared with starting the program directly.
//!
//! Absolute numbers depend on the machine and its disk, so every table has ratios of measurements taken in turn in the same
//! run. Nothing is asserted.
//!
//! `cargo bench --bench runner [-- latency|throughput|memory|compare]`; `CHORUS_BENCH_QUICK=1` makes everything small.
//!
//! `CHORUS_BENCH_AGAINST=PATH` names another build of chorus. Both builds are then measured in turn, and another table
//! shows the speed ratio; `-- compare` prints only that table. `CHORUS_BENCH_PROGRAM=PATH` replaces this build, and
//! `CHORUS_BENCH_ROUNDS` sets the number of rounds: see `support/compare.rs`.
//!
//! The agent is this program itself, started with `agent MILLISECONDS`.

#![expect(
    clippy::print_stdout,
    reason = "printing tables is the purpose of this program"
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
use support::settings::{arguments, is_quick, is_selected, runtime};

struct Plan {
    /// Agents timed one after the other.
    samples: usize,
    /// The duration of one measurement of the throughput.
    window: Duration,
    /// Measurements per point.
    rounds: usize,
    /// Agents at work while memory is measured.
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
    if is_selected("latency") {
        runtime.block_on(latency::run(&plan));
    }
    if is_selected("throughput") {
        runtime.block_on(throughput::run(&plan));
    }
    if is_selected("memory") {
        runtime.block_on(memory::run(&plan));
    }
    if let Some(comparison) = Comparison::from_environment() {
        runtime.block_on(compare::run(&comparison));
    }
}
