//! A library that lets system calls on files fail.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Returns the library, compiled by the first test that needs it.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| super::preload::compile("failing_disk"))
}

/// A disk on which calls of a server and its supervisors fail while an error is set.
pub struct FailingDisk {
    control: PathBuf,
}

impl FailingDisk {
    /// Creates a disk that does not fail yet.
    pub const fn new(control: PathBuf) -> Self {
        Self { control }
    }

    /// Returns the variables of processes that see the failures.
    pub fn environment(&self) -> [(&'static str, &Path); 2] {
        [("LD_PRELOAD", library()), ("FAILING", &self.control)]
    }

    /// Lets calls fail: `o` to open a file for writing, `r` to read, `w` to write or sync.
    pub fn fail(&self, error: rustix::io::Errno, calls: &str, part: &str) {
        let new = self.control.with_extension("new");
        let line = format!("{} {calls} {part}", error.raw_os_error());
        std::fs::write(&new, line).unwrap();
        std::fs::rename(new, &self.control).unwrap();
    }

    pub fn repair(&self) {
        std::fs::remove_file(&self.control).unwrap();
    }
}
