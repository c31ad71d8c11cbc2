//! Memory while many agents work.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::Plan;
use super::subject::Subject;
use super::support::median;
use super::support::memory::{Memory, kilobytes, megabytes};
use super::support::server::this_program;

/// The agents' working time in milliseconds; they are cancelled earlier.
const WORK: u64 = 240_000;

pub async fn run(plan: &Plan) {
    let subject = Subject::start(this_program(), WORK, plan.runs);
    let mut connection = subject.connect().await;
    let tasks = subject.add_tasks(plan.runs);
    let idle = Memory::of(subject.server.pid());
    for doors in &tasks {
        connection.start(doors).await;
    }
    let supervisors = supervisors(&subject.data_dir.path().join("runs"), plan.runs).await;
    let busy = Memory::of(subject.server.pid());
    println!("Memory while agents work");
    println!(
        "{:<32} {:>9} {:>9} {:>13} {:>13}",
        "", "VmRSS", "RssAnon", "VmRSS ÷ run", "RssAnon ÷ run"
    );
    println!(
        "{:<32} {:>9} {:>9}",
        "server, idle",
        megabytes(idle.resident),
        megabytes(idle.anonymous)
    );
    let runs = f64::from(u32::try_from(plan.runs).expect("the plan has hundreds of runs"));
    let each = |busy: u32, idle: u32| {
        let more = f64::from(busy) - f64::from(idle);
        format!("{:.1} KB", more / runs)
    };
    println!(
        "{:<32} {:>9} {:>9} {:>13} {:>13}",
        format!("server, {} runs", plan.runs),
        megabytes(busy.resident),
        megabytes(busy.anonymous),
        each(busy.resident, idle.resident),
        each(busy.anonymous, idle.anonymous)
    );
    let memories: Vec<_> = supervisors.iter().map(|pid| Memory::of(*pid)).collect();
    let mut private: Vec<_> = supervisors.iter().map(|pid| private(*pid)).collect();
    println!(
        "{:<32} {:>9} {:>9}",
        "one supervisor, median",
        megabytes(median_of(&memories, |memory| memory.resident)),
        megabytes(median_of(&memories, |memory| memory.anonymous))
    );
    println!(
        "private memory of one supervisor: median {} KB, maximum {} KB",
        median(&mut private),
        private.iter().max().expect("there are some")
    );
    println!();
    for doors in &tasks {
        connection.cancel(doors).await;
    }
}

fn median_of(memories: &[Memory], of: fn(&Memory) -> u32) -> u32 {
    median(&mut memories.iter().map(of).collect::<Vec<_>>())
}

/// Waits until `count` agents are at work. Returns the pids of their supervisors.
async fn supervisors(runs: &Path, count: usize) -> Vec<u32> {
    loop {
        let found: Vec<_> = std::fs::read_dir(runs)
            .into_iter()
            .flatten()
            .filter_map(|dir| supervisor(&dir.ok()?.path()))
            .collect();
        if found.len() == count {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn supervisor(run: &Path) -> Option<u32> {
    let started = std::fs::read(run.join("started.json")).ok()?;
    let started: Value = serde_json::from_slice(&started).ok()?;
    started["supervisorPid"].as_u64()?.try_into().ok()
}

/// Returns the private memory of a process in kilobytes.
fn private(pid: u32) -> u32 {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("it is alive");
    kilobytes(&rollup, "Private_Clean") + kilobytes(&rollup, "Private_Dirty")
}
