//! One process: whether it belongs to a run.

use std::fs::{read, read_link, read_to_string};
use std::path::Path;

use crate::domain::RunId;
use crate::supervisor::{marked_limit, unmarked_limit};

/// The times that a process is read whose ancestors change meanwhile.
const ATTEMPTS: usize = 5;

/// The most ancestors of a process.
const MOST_ANCESTORS: usize = 10_000;

/// A process. A reused pid is another process, because it started later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub pid: i32,
    /// Ticks since the boot.
    pub started: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// Shown not to belong to a run.
    Person,
    Run(RunId),
    /// Belongs to a run that cannot be named: its supervisor has ended, or is another server's.
    LostRun,
    /// Ended, or changed while it was read.
    Unclear,
}

impl Process {
    /// Reads a living process.
    pub fn read(pid: i32) -> Option<Self> {
        let (process, _) = stat(pid)?;
        Some(process)
    }

    /// Decides what the process is. Its ancestors are read before and after everything else; if they differ, a parent has ended
    /// meanwhile, and all is read again.
    pub fn standing(&self, runs: &Path) -> Standing {
        for _ in 0..ATTEMPTS {
            let Some(before) = self.ancestors() else {
                continue;
            };
            let marked = self.is_marked();
            let run = before
                .iter()
                .rev()
                .find_map(|process| process.supervised_run(runs));
            if self.ancestors().as_ref() != Some(&before) {
                continue;
            }
            return match (run, marked) {
                (Some(run), _) => Standing::Run(run),
                (None, Some(true)) => Standing::LostRun,
                (None, Some(false)) => Standing::Person,
                (None, None) => Standing::Unclear,
            };
        }
        Standing::Unclear
    }

    /// Lists the process and its ancestors up to the first of all, or `None` if one of them ended while they were read.
    fn ancestors(&self) -> Option<Vec<Self>> {
        let mut chain = Vec::new();
        let mut pid = self.pid;
        while pid != 0 && chain.len() < MOST_ANCESTORS {
            let (process, parent) = stat(pid)?;
            chain.push(process);
            pid = parent;
        }
        (chain.first() == Some(self)).then_some(chain)
    }

    /// Whether a supervisor has marked the process, or `None` if it has ended.
    fn is_marked(&self) -> Option<bool> {
        let limits = read_to_string(format!("/proc/{}/limits", self.pid)).ok()?;
        Some(marked_limit(&limits)? < unmarked_limit())
    }

    /// Returns the run that this process supervises. Its standard input is the lock of the run, and holds that lock: another
    /// process can open the file, but not hold the lock.
    fn supervised_run(&self, runs: &Path) -> Option<RunId> {
        let input = read_link(format!("/proc/{}/fd/0", self.pid)).ok()?;
        let mut parts = input.strip_prefix(runs).ok()?.iter();
        let (id, file) = (parts.next()?.to_str()?, parts.next()?);
        let id = RunId::parse(id).ok().filter(|_| file == "lock")?;
        let details = read_to_string(format!("/proc/{}/fdinfo/0", self.pid)).ok()?;
        let holds = details.lines().any(|line| line.starts_with("lock:"));
        holds.then_some(id)
    }
}

/// Reads a process and the pid of its parent. A zombie has no descriptors and is not a caller.
fn stat(pid: i32) -> Option<(Process, i32)> {
    let text = read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The name of the program is in parentheses and may contain anything.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some((Process { pid, started }, parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_with_its_ancestors() {
        let own = Process::read(std::process::id().cast_signed()).unwrap();
        let chain = own.ancestors().unwrap();
        assert_eq!(chain.first(), Some(&own));
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        assert_eq!(chain.get(1).map(|process| process.pid), Some(parent));
        let reused = Process {
            started: own.started + 1,
            ..own
        };
        assert_eq!(reused.standing(Path::new("/nowhere")), Standing::Unclear);
    }
}
