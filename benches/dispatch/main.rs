//! Measures how fast approved requests start, and how fast tags are found in files.
//!
//! Absolute numbers depend on the machine and its disk, so every table has ratios of measurements taken in turn in the same
//! run. Nothing is asserted.
//!
//! `cargo bench --bench dispatch [-- starts|tag-find]`; `CHORUS_BENCH_QUICK=1` makes everything small, and `CHORUS_BENCH_FILES` sets
//! the number of files in the tree.

#![expect(
    clippy::print_stdout,
    reason = "printing tables is the purpose of this program"
)]

mod starts;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other benchmarks use the rest")]
mod support;
mod tag_find;

use support::settings::{is_quick, is_selected, runtime, setting};

struct Plan {
    /// Files in the tree.
    files: usize,
    /// Measurements of each search.
    rounds: usize,
    /// Approved requests.
    requests: usize,
    /// Measurements of the starts.
    starts: usize,
}

impl Plan {
    fn from_environment() -> Self {
        let plan = if is_quick() {
            Self {
                files: 2_000,
                rounds: 3,
                requests: 50,
                starts: 1,
            }
        } else {
            Self {
                files: 50_000,
                rounds: 15,
                requests: 1_000,
                starts: 3,
            }
        };
        let files = setting("CHORUS_BENCH_FILES", plan.files);
        Self { files, ..plan }
    }
}

fn main() {
    let plan = Plan::from_environment();
    if is_selected("starts") {
        let runtime = runtime();
        runtime.block_on(starts::run(&plan));
    }
    if is_selected("tag-find") {
        tag_find::run(&plan);
    }
}
