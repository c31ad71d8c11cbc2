//! Recognises the supervisors of runs by their lock.

use std::io::Result;
use std::path::{Path, PathBuf};

/// Returns the directory of the run that a process supervises. The standard input of a supervisor is the lock of its run, and holds
/// that lock: another process can open the file, but cannot hold the lock at the same time.
pub fn supervised_directory(pid: i32, runs: &Path) -> Result<Option<PathBuf>> {
    let Ok(input) = std::fs::read_link(format!("/proc/{pid}/fd/0")) else {
        return Ok(None);
    };
    let directory = input.parent().filter(|directory| {
        directory.parent() == Some(runs) && input.file_name().is_some_and(|name| name == "lock")
    });
    let Some(directory) = directory else {
        return Ok(None);
    };
    let details = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/0"))?;
    let is_held = details.lines().any(|line| line.starts_with("lock:"));
    Ok(is_held.then(|| directory.to_owned()))
}
