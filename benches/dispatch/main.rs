//! Measures how fast approved requests are started, and how fast work that is kept in files is found.
//!
//! Absolute numbers belong to a machine and its disk, so every table has ratios of things that were measured in turn
//! in the same run. Nothing is asserted.
//!
//! `cargo bench --bench dispatch [-- starts|tag-find]`; `CHORUS_BENCH_QUICK=1` makes everything small, and `CHORUS_BENCH_FILES` says
//! how many files the tree has.

#![expect(
    clippy::print_stdout,
    reason = "the tables are what this program is for"
)]

mod starts;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other benchmarks use the rest")]
mod support;
mod tag_find;

use support::settings::{is_asked, is_quick, runtime, setting};

/// How much is measured.
struct Plan {
    /// How many files the tree has.
    files: usize,
    /// How many times each search is timed.
    rounds: usize,
    /// How many requests are approved.
    requests: usize,
    /// How many times that is timed.
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
    if is_asked("starts") {
        let runtime = runtime();
        runtime.block_on(starts::run(&plan));
    }
    if is_asked("tag-find") {
        tag_find::run(&plan);
    }
}
