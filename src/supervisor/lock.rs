//! Recognises the supervisors of runs by their lock.

use std::fs::metadata;
use std::io::Result;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the directory of the run that a process supervises. The standard input of a supervisor is the lock of its run, and holds
/// that lock: another process can open the file, but cannot hold the lock at the same time. The path of the file only shows where to look:
/// the directory may be mounted elsewhere too, and an agent can make a path of its own.
pub fn supervised_directory(pid: i32, runs: &Path) -> Result<Option<PathBuf>> {
    let input = format!("/proc/{pid}/fd/0");
    let Ok(path) = std::fs::read_link(&input) else {
        return Ok(None);
    };
    let name = path.parent().and_then(Path::file_name);
    let Some(directory) = name.map(|name| runs.join(name)) else {
        return Ok(None);
    };
    let identity = |path: &Path| metadata(path).map(|file| (file.dev(), file.ino()));
    let (Ok(input), Ok(lock)) = (
        identity(Path::new(&input)),
        identity(&directory.join("lock")),
    ) else {
        return Ok(None);
    };
    if input != lock {
        return Ok(None);
    }
    let details = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/0"))?;
    let is_held = details.lines().any(|line| line.starts_with("lock:"));
    Ok(is_held.then_some(directory))
}
