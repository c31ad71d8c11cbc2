//! Whether the agent of a run waits for other agents. Its limits stand still meanwhile.
//!
//! # How it works
//! The server writes the file `waits.json` into the run directory whenever the waits change, and wakes the supervisor by an order.
//! The file names the runs that the agent waits for. Such a run lasts as long as its own supervisor holds its lock, so a wait ends also while no
//! server is there to tell so. Work that has not started is not ended by anything but a server, so that wait lasts until the next server.
//! A lost order makes a wait up to [`NAP`](super::NAP) shorter.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::files::create_anew;
use super::shortage::may_pass;
use super::{RunFiles, open_plain};

/// The maximum size of the file.
const LARGEST: u64 = 64 * 1024;

/// The waits of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waits {
    /// The started runs, by their ids.
    pub runs: Vec<String>,
    /// Whether the agent also waits for work that has not started here.
    pub others: bool,
}

impl Waits {
    pub const fn is_empty(&self) -> bool {
        self.runs.is_empty() && !self.others
    }

    /// Replaces the file of a run: readers see the whole file or none.
    pub fn write(&self, files: &RunFiles) -> std::io::Result<()> {
        let unfinished = files.waits().with_extension("unfinished");
        create_anew(&unfinished)?.write_all(&serde_json::to_vec(self)?)?;
        std::fs::rename(&unfinished, files.waits())
    }

    /// Reads the file of a run. An absent or unreadable one says that the agent does not wait.
    fn read(files: &RunFiles) -> std::io::Result<Self> {
        let mut bytes = Vec::new();
        let read = open_plain(&files.waits(), OFlags::RDONLY)
            .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
        match read {
            Err(error) if may_pass(&error) => Err(error),
            Err(_) => Ok(Self::default()),
            Ok(_) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
        }
    }

    /// Whether one of the awaited runs goes on.
    fn last(&self, files: &RunFiles) -> std::io::Result<bool> {
        if self.others {
            return Ok(true);
        }
        for run in &self.runs {
            if is_supervised(&files.beside(run))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a supervisor holds the lock of a run.
fn is_supervised(files: &RunFiles) -> std::io::Result<bool> {
    match open_plain(&files.lock(), OFlags::RDONLY) {
        Ok(lock) => Ok(flock(&lock, FlockOperation::NonBlockingLockShared) == Err(Errno::AGAIN)),
        Err(error) if may_pass(&error) => Err(error),
        Err(_) => Ok(false),
    }
}

/// The time that an agent has waited so far.
pub(super) struct Waited {
    is_waiting: bool,
    looked: Instant,
    total: Duration,
}

impl Waited {
    pub fn begin() -> Self {
        Self {
            is_waiting: false,
            looked: Instant::now(),
            total: Duration::ZERO,
        }
    }

    /// Looks whether the agent waits. Returns whether it has waited at any time since the last look.
    pub fn look(&mut self, files: &RunFiles) -> bool {
        let waits = Waits::read(files).and_then(|waits| waits.last(files));
        // Without descriptors, nothing shows that the wait has ended.
        self.count(waits.unwrap_or(self.is_waiting), Instant::now())
    }

    fn count(&mut self, is_waiting: bool, now: Instant) -> bool {
        let was_waiting = std::mem::replace(&mut self.is_waiting, is_waiting);
        if was_waiting {
            self.total += now.saturating_duration_since(self.looked);
        }
        self.looked = now;
        was_waiting || is_waiting
    }

    pub const fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    pub const fn total(&self) -> Duration {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn only_the_time_between_looks_at_a_wait_counts() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut waited = Waited::begin();
        waited.looked = start;
        let looks = [
            (10, false),
            (20, true),
            (50, true),
            (60, false),
            (90, false),
        ];
        let seen: Vec<_> = looks
            .iter()
            .map(|(seconds, is_waiting)| waited.count(*is_waiting, at(*seconds)))
            .collect();
        assert_eq!(seen, [false, true, true, true, false]);
        assert_eq!(waited.total(), Duration::from_secs(40));
    }

    #[test]
    fn a_wait_lasts_as_long_as_a_supervisor_holds_a_lock_or_work_has_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let files = |run: &str| RunFiles::new(&folder.path().join(run));
        for run in ["parent", "child"] {
            std::fs::create_dir(files(run).dir()).unwrap();
        }
        let parent = files("parent");
        let mut waited = Waited::begin();
        let mut looks = |waits: &Waits| {
            waits.write(&parent).unwrap();
            waited.look(&parent);
            waited.is_waiting()
        };
        let waits = |runs: &[&str], others| Waits {
            runs: runs.iter().map(|&run| run.to_owned()).collect(),
            others,
        };
        assert!(!looks(&waits(&["child", "../../etc"], false)));
        let lock = File::create(files("child").lock()).unwrap();
        assert!(!looks(&waits(&["child"], false)));
        lock.try_lock().unwrap();
        assert!(looks(&waits(&["gone", "child"], false)));
        lock.unlock().unwrap();
        assert!(!looks(&waits(&["child"], false)));
        assert!(looks(&waits(&[], true)));
        std::fs::write(parent.waits(), "{").unwrap();
        waited.look(&parent);
        assert!(!waited.is_waiting());
    }
}
