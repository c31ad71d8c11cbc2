//! A cgroup for each run, where the server may make one.
//!
//! # How it works
//! The server makes a cgroup below its own before it starts a supervisor, and the supervisor moves into it. The name of the cgroup is
//! the mark of the run, so `/proc/PID/cgroup` of any process shows its run to every server, also to one that was started elsewhere.
//! Only cgroup v2 is used, without controllers. An ordinary user may make a cgroup only in a part of the tree that was delegated to
//! that user. Elsewhere runs have no cgroup, and their processes are found by environment, ancestors and session.

use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Access, access};
use rustix::process::Pid;

use crate::supervisor::remove_cgroup;

/// The first part of the name of a run's cgroup.
const PREFIX: &str = "chorus.";

/// The place of the cgroups of runs.
#[derive(Debug)]
pub(super) struct Cgroups {
    /// The reason, if no cgroup can be made.
    parent: std::result::Result<PathBuf, String>,
    /// Whether the log says that a cgroup could not be made.
    is_told: AtomicBool,
}

impl Cgroups {
    /// Finds the place for cgroups: the cgroup of this server, or the one above if an agent started the server inside its run.
    pub fn find() -> Self {
        let find = || -> Result<PathBuf> {
            let own = path_of("self")?.ok_or_else(|| Error::from(ErrorKind::NotFound))?;
            let parent = directory(&outside_of_runs(&own))
                .ok_or_else(|| Error::other("cgroup v2 is not mounted"))?;
            access(&parent, Access::WRITE_OK)?;
            access(parent.join("cgroup.procs"), Access::WRITE_OK)?;
            Ok(parent)
        };
        let parent = find().map_err(|error| error.to_string());
        match &parent {
            Ok(parent) => tracing::debug!(parent = %parent.display(), "each run has a cgroup"),
            Err(reason) => tracing::info!(
                reason,
                "runs have no cgroup: a process that hides may survive a killed supervisor"
            ),
        }
        Self {
            parent,
            is_told: AtomicBool::new(false),
        }
    }

    /// Makes the cgroup of a run. A run without one is less safe, and no reason to fail.
    pub fn make(&self, mark: &str) -> Option<PathBuf> {
        let cgroup = self.parent.as_ref().ok()?.join(name(mark));
        match std::fs::create_dir(&cgroup) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                if !self.is_told.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, cgroup = %cgroup.display(), "cannot make a cgroup for a run; it starts without one");
                }
                None
            }
            _ => Some(cgroup),
        }
    }

    /// Removes the cgroup of a run that has ended. Its supervisor has done so, unless it was killed.
    pub fn remove(&self, mark: &str) {
        if let Ok(parent) = &self.parent {
            // A cgroup with processes stays until they have ended, and the next server removes it.
            let _ = remove_cgroup(&parent.join(name(mark)));
        }
    }

    /// Removes the empty cgroups that killed supervisors of this installation have left.
    pub fn remove_left(&self, is_ours: impl Fn(&str) -> bool) {
        let Ok(parent) = &self.parent else {
            return;
        };
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            if let Some(mark) = entry.file_name().to_str().and_then(mark)
                && is_ours(&mark)
            {
                self.remove(&mark);
            }
        }
    }
}

/// Returns the marks of the runs in whose cgroups a process is: several, if an agent has started a server of its own.
pub(super) fn marks_of(pid: Pid) -> Vec<String> {
    let path = path_of(&pid.as_raw_nonzero().to_string()).ok().flatten();
    let path = path.unwrap_or_default();
    path.iter()
        .filter_map(|name| mark(name.to_str()?))
        .collect()
}

/// Finds the directory of a run's cgroup by one of its processes. `None` if this server is in the cgroup too, started by the agent.
pub(super) fn of_run(mark: &str, pid: Pid) -> Option<PathBuf> {
    let path = path_of(&pid.as_raw_nonzero().to_string()).ok()??;
    let own = path_of("self").ok()??;
    let cgroup = up_to(&path, mark)?;
    (!own.starts_with(&cgroup)).then(|| directory(&cgroup))?
}

/// Kills all processes in a cgroup at once, so that none can start another meanwhile. Linux can do so since version 5.14.
pub(super) fn kill(cgroup: &Path) -> bool {
    std::fs::write(cgroup.join("cgroup.kill"), "1").is_ok()
}

fn name(mark: &str) -> String {
    format!("{PREFIX}{}", mark.replacen('/', ".", 1))
}

/// Returns the mark in the name of a cgroup.
fn mark(name: &str) -> Option<String> {
    let mark = name.strip_prefix(PREFIX)?;
    mark.contains('.').then(|| mark.replacen('.', "/", 1))
}

/// Returns the part of a path that ends with the cgroup of a run.
fn up_to(path: &Path, mark: &str) -> Option<PathBuf> {
    let name = name(mark);
    let mut above = path.ancestors();
    above
        .find(|path| path.file_name().is_some_and(|last| *last == *name))
        .map(Path::to_owned)
}

/// Returns the part of a path above the first cgroup of a run.
fn outside_of_runs(path: &Path) -> PathBuf {
    let is_outside = |name: &&std::ffi::OsStr| name.to_str().and_then(mark).is_none();
    path.iter().take_while(is_outside).collect()
}

/// Returns the cgroup of a process as the kernel names it, or `None` if the kernel has no cgroup v2.
fn path_of(process: &str) -> Result<Option<PathBuf>> {
    let text = std::fs::read_to_string(format!("/proc/{process}/cgroup"))?;
    Ok(text
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .map(PathBuf::from))
}

/// Returns the directory of a cgroup in the file system.
fn directory(path: &Path) -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts
        .lines()
        .filter_map(|line| mounted(line, path))
        .find(|directory| directory.join("cgroup.procs").exists())
}

/// Returns the directory of a cgroup below the mount that a line of `mountinfo` describes.
fn mounted(line: &str, path: &Path) -> Option<PathBuf> {
    let (mount, kind) = line.split_once(" - ")?;
    let mut fields = mount.split_whitespace().skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    if kind.split_whitespace().next() != Some("cgroup2") {
        return None;
    }
    Some(Path::new(point).join(path.strip_prefix(root).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cgroup_of_a_run_is_named_by_its_mark() {
        let run = "1a-2b/0198c0de-0000-7000-8000-000000000000";
        assert_eq!(mark(&name(run)), Some(run.to_owned()));
        assert_eq!(mark("chorus.service"), None);
        assert_eq!(mark("user.slice"), None);
        let inside = PathBuf::from("/a.slice")
            .join(name(run))
            .join("made/by-agent");
        let cgroup = PathBuf::from("/a.slice").join(name(run));
        assert_eq!(up_to(&inside, run), Some(cgroup));
        assert_eq!(up_to(&inside, "1a-2b/other"), None);
        assert_eq!(outside_of_runs(&inside), Path::new("/a.slice"));
        assert_eq!(outside_of_runs(Path::new("/")), Path::new("/"));
    }

    #[test]
    fn a_cgroup_is_found_below_its_mount() {
        let whole = "37 29 0:32 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw";
        let part = "37 29 0:32 /a/b /sys/fs/cgroup rw - cgroup2 cgroup rw";
        let other = "38 29 0:33 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids";
        let path = Path::new("/a/b/c");
        let directory = |line| mounted(line, path);
        assert_eq!(directory(whole), Some("/sys/fs/cgroup/a/b/c".into()));
        assert_eq!(directory(part), Some("/sys/fs/cgroup/c".into()));
        assert_eq!(directory(other), None);
        assert_eq!(mounted(part, Path::new("/elsewhere")), None);
    }
}
