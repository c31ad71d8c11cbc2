//! Measures the memory of the server under loads of many bytes: the most that it takes, and what is left afterwards.
//!
//! Nothing is asserted. Each load has a new server on new data.
//!
//! `cargo bench --bench loads [-- list|replays|streams|bodies|tags]`; `CHORUS_BENCH_QUICK=1` makes everything small.
//!
//! `CHORUS_BENCH_AGAINST=PATH` names another build of chorus, which is measured as well. `CHORUS_BENCH_PROGRAM=PATH` replaces
//! this build.

#![expect(
    clippy::print_stdout,
    reason = "printing tables is the purpose of this program"
)]

mod load;
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the other benchmarks use the rest")]
mod support;

use std::path::Path;
use std::time::Duration;

use load::{LOADS, Load, Subject};
use support::memory::{Memory, megabytes};
use support::server::this_program;
use support::settings::{is_quick, is_selected, program, runtime};

/// The time after a load in which the server may give memory back.
const REST: Duration = Duration::from_secs(15);

/// The sizes of the loads.
#[derive(Clone, Copy)]
struct Plan {
    /// The bytes of a large description.
    description: usize,
    /// The bytes of a large body.
    body: usize,
    tags: usize,
    streams: usize,
}

impl Plan {
    fn from_environment() -> Self {
        if is_quick() {
            Self {
                description: 1024 * 1024,
                body: 1024 * 1024,
                tags: 50_000,
                streams: 50,
            }
        } else {
            Self {
                description: 16 * 1024 * 1024,
                body: 32 * 1024 * 1024,
                tags: 1_000_000,
                streams: 500,
            }
        }
    }
}

fn main() {
    let plan = Plan::from_environment();
    let runtime = runtime();
    let mut programs = vec![("this", this_program().to_owned())];
    if let Some(other) = program("CHORUS_BENCH_AGAINST") {
        programs.push(("other", other));
    }
    println!("Memory (VmRSS) under loads of many bytes");
    println!(
        "{:<44} {:<6} {:>9} {:>9} {:>9}   note",
        "", "", "before", "most", "after"
    );
    for load in LOADS {
        if !is_selected(load.section) {
            continue;
        }
        for (name, program) in &programs {
            runtime.block_on(measure(load, name, program, plan));
        }
    }
}

async fn measure(load: &Load, name: &str, program: &Path, plan: Plan) {
    let subject = Subject::start(program);
    (load.prepare)(&subject, plan).await;
    let subject = subject.restarted();
    let before = Memory::of(subject.server.pid());
    let note = (load.run)(&subject, plan).await;
    let most = Memory::most(subject.server.pid());
    tokio::time::sleep(REST).await;
    let after = Memory::of(subject.server.pid());
    println!(
        "{:<44} {name:<6} {:>9} {:>9} {:>9}   {note}",
        load.name,
        megabytes(before.resident),
        megabytes(most),
        megabytes(after.resident),
    );
}
