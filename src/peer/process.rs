//! One process: whether it belongs to a run.

use std::fs::read_to_string;
use std::io::Result;
use std::path::Path;

use crate::domain::RunId;
use crate::supervisor::{ProcessStat, is_shortage, marked_limit, supervised_directory};

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
    pub fn read(pid: i32) -> Result<Option<Self>> {
        Ok(stat(pid)?.map(|(process, _)| process))
    }

    /// Decides what the process is. Its ancestors are read before and after everything else; if they differ, a parent has ended
    /// meanwhile, and all is read again. A limit below `unmarked` is the mark of a run.
    pub fn standing(&self, runs: &Path, unmarked: u64) -> Result<Standing> {
        for _ in 0..ATTEMPTS {
            let Some(before) = self.ancestors()? else {
                continue;
            };
            let marked = self.limit()?.map(|limit| limit < unmarked);
            let mut run = None;
            for process in before.iter().rev() {
                run = process.supervised_run(runs)?;
                if run.is_some() {
                    break;
                }
            }
            if self.ancestors()?.as_ref() != Some(&before) {
                continue;
            }
            return Ok(match (run, marked) {
                (Some(run), _) => Standing::Run(run),
                (None, Some(true)) => Standing::LostRun,
                (None, Some(false)) => Standing::Person,
                (None, None) => Standing::Unclear,
            });
        }
        Ok(Standing::Unclear)
    }

    /// Lists the process and its ancestors up to the first of all, or `None` if one of them ended while they were read.
    fn ancestors(&self) -> Result<Option<Vec<Self>>> {
        let mut chain = Vec::new();
        let mut pid = self.pid;
        while pid != 0 && chain.len() < MOST_ANCESTORS {
            let Some((process, parent)) = stat(pid)? else {
                return Ok(None);
            };
            chain.push(process);
            pid = parent;
        }
        Ok((chain.first() == Some(self)).then_some(chain))
    }

    /// Returns the limit that a supervisor lowers, or `None` if the process has ended.
    fn limit(&self) -> Result<Option<u64>> {
        let limits = unless_short(read_to_string(format!("/proc/{}/limits", self.pid)))?;
        Ok(limits.and_then(|limits| marked_limit(&limits)))
    }

    /// Returns the run that this process supervises.
    fn supervised_run(&self, runs: &Path) -> Result<Option<RunId>> {
        let directory = unless_short(supervised_directory(self.pid, runs))?.flatten();
        let id = directory.and_then(|directory| {
            let name = directory.file_name()?;
            RunId::parse(name.to_str()?).ok()
        });
        Ok(id)
    }
}

/// Reads a process and the pid of its parent. A zombie has no descriptors and is not a caller.
fn stat(pid: i32) -> Result<Option<(Process, i32)>> {
    let stat = unless_short(ProcessStat::read(pid))?.flatten();
    Ok(stat.map(|stat| {
        let started = stat.started;
        (Process { pid, started }, stat.parent)
    }))
}

/// Turns the error of a process that has ended into `None`. A shortage is an error: it must not make a process invisible.
pub(super) fn unless_short<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_shortage(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_with_its_ancestors() {
        let own = Process::read(std::process::id().cast_signed())
            .unwrap()
            .unwrap();
        let chain = own.ancestors().unwrap().unwrap();
        assert_eq!(chain.first(), Some(&own));
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        assert_eq!(chain.get(1).map(|process| process.pid), Some(parent));
        let reused = Process {
            started: own.started + 1,
            ..own
        };
        let standing = reused.standing(Path::new("/nowhere"), u64::MAX).unwrap();
        assert_eq!(standing, Standing::Unclear);
    }
}
