//! The processes below a supervisor.
//!
//! Tools of agents run in sessions and groups of their own, so a signal to a group misses them. But a supervisor
//! inherits every process below it whose parent ends: whoever ends its children again and again, until there are none,
//! has ended the tree. Children that were not waited for keep their pids, so none of these can mean somebody else.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait, waitpid};

/// Takes note of processes that were left to the supervisor and have ended, all but the agent.
pub(super) fn reap_orphans(agent: Pid) {
    for child in children() {
        if child != agent {
            // One that still runs, or is gone, needs nothing.
            let _ = waitpid(Some(child), WaitOptions::NOHANG);
        }
    }
}

/// How long to wait before the children are looked at again.
const PAUSE: Duration = Duration::from_millis(1);

/// Ends everything below the supervisor.
///
/// It never waits for a certain child: the list of a process's children may leave one out while others come and go.
pub(super) fn kill_descendants() {
    loop {
        let children = children();
        for child in &children {
            // An error means that it has ended already.
            let _ = kill_process(*child, Signal::KILL);
        }
        // The children of one that is gone are ours from then on.
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => std::thread::sleep(PAUSE),
            Err(_) => return,
        }
    }
}

/// Lists the children of this process.
fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero().get();
    match std::fs::read_to_string(format!("/proc/{own}/task/{own}/children")) {
        Ok(list) => list
            .split_whitespace()
            .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
            .collect(),
        Err(_) => children_by_search(own),
    }
}

/// Lists the children of a process on a system whose kernel does not.
fn children_by_search(parent: i32) -> Vec<Pid> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
            continue;
        };
        // The name of a program is in parentheses and may contain anything.
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        if after_name
            .split_whitespace()
            .nth(1)
            .and_then(|ppid| ppid.parse().ok())
            == Some(parent)
        {
            found.extend(Pid::from_raw(pid));
        }
    }
    found
}
