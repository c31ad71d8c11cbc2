//! Shortages, made on purpose: no descriptors, no processes, no room on the disk.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::Server;

/// A server that can open no further files, until this value is dropped. Connections that exist go on.
pub struct NoDescriptors {
    pid: Pid,
    before: Rlimit,
}

impl NoDescriptors {
    pub fn of(server: &Server) -> Self {
        Self::of_process(server.pid())
    }

    pub fn of_process(pid: u32) -> Self {
        let pid = Pid::from_raw(pid.cast_signed()).unwrap();
        let before = descriptor_limit(pid);
        let none = Rlimit {
            current: Some(0),
            ..before
        };
        prlimit(Some(pid), Resource::Nofile, none).unwrap();
        Self { pid, before }
    }
}

/// Reads the limit of open files of another process. `None` is no limit.
fn descriptor_limit(pid: Pid) -> Rlimit {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_nonzero()));
    let limits = limits.unwrap();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let mut words = line.unwrap().split_whitespace();
    let mut next = || words.next().unwrap().parse::<u64>().ok();
    Rlimit {
        current: next(),
        maximum: next(),
    }
}

impl Drop for NoDescriptors {
    fn drop(&mut self) {
        // An error means that the process has ended.
        let _ = prlimit(Some(self.pid), Resource::Nofile, self.before);
    }
}

/// A control group that limits the number of processes and threads.
pub struct ProcessLimit(PathBuf);

impl ProcessLimit {
    /// Returns `None`, and says so, where no group can be made.
    pub fn new() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("chorus-test-{}-{number}", std::process::id());
        let group = Path::new("/sys/fs/cgroup/pids").join(name);
        match std::fs::create_dir(&group) {
            Ok(()) if group.join("pids.max").exists() => Some(Self(group)),
            other => leave_out("no control group for processes can be made", &other),
        }
    }

    /// The file to which a process writes its pid to join.
    pub fn members(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }

    pub fn add(&self, pid: u32) {
        std::fs::write(self.members(), pid.to_string()).unwrap();
    }

    /// Allows this many processes and threads, or any number.
    pub fn allow(&self, most: Option<u32>) {
        let most = most.map_or_else(|| "max".to_owned(), |most| most.to_string());
        std::fs::write(self.0.join("pids.max"), most).unwrap();
    }

    /// Allows this many more than exist.
    pub fn allow_more(&self, more: u32) {
        let current = std::fs::read_to_string(self.0.join("pids.current")).unwrap();
        let current: u32 = current.trim().parse().unwrap();
        self.allow(Some(current + more));
    }
}

impl Drop for ProcessLimit {
    fn drop(&mut self) {
        self.allow(None);
        // A group with members stays: its processes belong to the failed test.
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A file system of its own, whose size is changed.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts at a folder. Returns `None`, and says so, where nothing can be mounted.
    pub fn mount(folder: &Path) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4g,mode=700", "chorus-test"])
            .arg(folder)
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(folder.to_owned())),
            other => leave_out("no small disk can be mounted", &other),
        }
    }

    /// Shrinks the disk to the size of its files.
    pub fn fill(&self) {
        // A file may grow before the disk is smaller, so that the size is too small.
        for _ in 0..1000 {
            let disk = rustix::fs::statvfs(&self.0).unwrap();
            if self.resize((disk.f_blocks - disk.f_bfree) * disk.f_frsize) {
                return;
            }
        }
        panic!("the disk cannot be made smaller");
    }

    pub fn free(&self) {
        assert!(self.resize(4 << 30));
    }

    fn resize(&self, bytes: u64) -> bool {
        let resized = Command::new("mount")
            .arg("-o")
            .arg(format!("remount,size={bytes}"))
            .arg(&self.0)
            .output();
        resized.unwrap().status.success()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a failed test may have left processes on it.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A folder that cannot be changed by its path, until it is dropped. Files that are open for writing stay so.
pub struct ReadOnly(PathBuf);

impl ReadOnly {
    /// Returns `None`, and says so, where nothing can be mounted.
    pub fn make(folder: &Path) -> Option<Self> {
        let mount = |arguments: &[&str]| {
            let mut command = Command::new("mount");
            command.args(arguments).arg(folder).output()
        };
        let path = folder.to_str().unwrap();
        match mount(&["--bind", path]) {
            Ok(output) if output.status.success() => {}
            other => return leave_out("no directory can be mounted", &other),
        }
        let made = Self(folder.to_owned());
        let changed = mount(&["-o", "remount,bind,ro"]).unwrap();
        assert!(changed.status.success(), "{changed:?}");
        Some(made)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        // A failure shows in the test, which waits for the end of the shortage.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Reports a part of a test that this environment does not allow.
pub fn leave_out<T>(what: &str, cause: &dyn std::fmt::Debug) -> Option<T> {
    // The report is lost if standard error is closed.
    let _ = writeln!(std::io::stderr(), "left out: {what}: {cause:?}");
    None
}
