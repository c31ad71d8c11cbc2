//! Looks for damage in the database file.
//!
//! SQLite notices a damaged page only when it reads the page. A scan reads them all, which takes as long as the file is big, so
//! scans rest in proportion to their length.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connection::open_reader;
use crate::domain::Fault;
use crate::store::{Result, StoreError};

/// The longest time that a caller waits for a scan. A longer one goes on alone, and a later caller learns its result.
const PATIENCE: Duration = Duration::from_secs(1);

/// The rest after a scan, in lengths of that scan.
const REST: u32 = 50;

/// Clones share one scan.
#[derive(Debug, Clone)]
pub(super) struct Scanner {
    path: PathBuf,
    /// The end of the rest after the last scan. Held during a scan.
    rests_until: Arc<tokio::sync::Mutex<Option<Instant>>>,
    /// The damage that the last scan found.
    damage: Arc<Mutex<Option<String>>>,
}

impl Scanner {
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            rests_until: Arc::default(),
            damage: Arc::default(),
        }
    }

    /// Fails if the database is known to be damaged.
    pub async fn check(&self) -> Result<()> {
        let scan = tokio::spawn(self.clone().scan_if_rested());
        // A scan that takes longer reports to the next caller.
        let _ = tokio::time::timeout(PATIENCE, scan).await;
        match &*self.damage() {
            Some(damage) => Err(damaged(damage)),
            None => Ok(()),
        }
    }

    async fn scan_if_rested(self) {
        let mut rests_until = self.rests_until.lock().await;
        if rests_until.is_some_and(|end| Instant::now() < end) {
            return;
        }
        let (path, began) = (self.path.clone(), Instant::now());
        let Ok(scanned) = tokio::task::spawn_blocking(move || scan(&path)).await else {
            return;
        };
        *rests_until = Some(Instant::now() + began.elapsed() * REST);
        match scanned {
            Ok(found) => *self.damage() = found,
            Err(error) if error.fault() == Some(Fault::Damaged) => {
                *self.damage() = Some(error.to_string());
            }
            // A scan that is not possible for now, for instance for want of descriptors, says nothing about the file.
            Err(error) => tracing::debug!(%error, "cannot look for damage"),
        }
    }

    fn damage(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the first damage in a file.
fn scan(path: &Path) -> Result<Option<String>> {
    let first: String =
        open_reader(path)?.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((first != "ok").then_some(first))
}

fn damaged(damage: &str) -> StoreError {
    StoreError::Unavailable {
        fault: Fault::Damaged,
        cause: damage.into(),
    }
}
