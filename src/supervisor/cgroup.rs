//! The cgroup of a run, which holds the supervisor and all that its agent starts.
//!
//! A process can empty its environment, leave its session and lose its parent, and stays in its cgroup. So the cgroup shows the
//! processes of a run even after its supervisor was killed.

use std::io::Result;
use std::path::Path;

/// The file that lists the processes of a cgroup, and that takes the process to move there: 0 for the writer.
const PROCESSES: &str = "cgroup.procs";

/// Moves this process, and all that it starts from now on, into a cgroup.
pub(super) fn enter(cgroup: &Path) -> Result<()> {
    std::fs::write(cgroup.join(PROCESSES), "0")
}

/// Moves this process, the last of its cgroup, one level up, and removes the cgroup.
pub(super) fn leave(cgroup: &Path) -> Result<()> {
    if let Some(parent) = cgroup.parent() {
        enter(parent)?;
    }
    remove_cgroup(cgroup)
}

/// Removes an empty cgroup with the cgroups that the agent has made below it. Fails if one of them has a process.
pub fn remove_cgroup(cgroup: &Path) -> Result<()> {
    for entry in std::fs::read_dir(cgroup)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_cgroup(&entry.path())?;
        }
    }
    std::fs::remove_dir(cgroup)
}
