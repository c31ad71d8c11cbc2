//! Notices a program that prints nothing but errors.
//!
//! # How it works
//! Some programs retry for ever when the API of their model does not answer, and print each attempt, so they are never idle. Others
//! retry in silence. So each error of an attempt begins a trouble, and each other output ends it. The errors are on standard output,
//! or on standard error, where only a newer file counts: an error that was followed by output is over. A trouble that lasts longer
//! than its limit ends the run. The limit begins again if the server is restarted.

use std::fs::File;
use std::io::Read;
use std::time::Duration;

use tokio::time::Instant;

use super::Runner;
use super::follow::Follower;
use super::providers::{complaint, has_complaints};
use super::run_dir::open_plain;
use super::shortage::Stopping;
use crate::domain::{Provider, Text};
use crate::ledger::run::{self, ClaimedRun, Trouble};
use crate::store::Tx;
use crate::supervisor::RunFiles;

/// The longest recorded error.
const LONGEST: usize = 2000;

/// The most bytes that are read from standard error at once.
const PIECE: u64 = 256 * 1024;

/// The errors of one run.
pub(super) struct Troubles {
    provider: Provider,
    errors: Option<File>,
    partial: Vec<u8>,
    /// When the program began to print nothing but errors, and the last error that was recorded.
    since: Option<(Instant, String)>,
    limit: Duration,
}

impl Troubles {
    pub fn new(provider: Provider, files: &RunFiles, limit: Duration) -> Self {
        Self {
            provider,
            errors: has_complaints(provider)
                .then(|| open_plain(&files.stderr()).ok())
                .flatten(),
            partial: Vec::new(),
            since: None,
            limit,
        }
    }

    /// Whether standard error has errors of attempts.
    pub const fn reads_errors(&self) -> bool {
        self.errors.is_some()
    }

    /// Returns when the run is to be ended, if the program does not continue before.
    pub fn ends_at(&self) -> Option<Instant> {
        self.since.as_ref()?.0.checked_add(self.limit)
    }

    pub fn is_over_limit(&self) -> bool {
        self.ends_at().is_some_and(|end| end <= Instant::now())
    }

    /// Returns the last error of a run that was ended because of its errors.
    pub fn last_error(&self) -> &str {
        self.since.as_ref().map_or("", |(_, error)| error)
    }

    /// Reads the errors of attempts from standard error.
    fn read_complaints(&mut self) -> Vec<String> {
        let Some(file) = &mut self.errors else {
            return Vec::new();
        };
        // Without standard error, a run is judged by its other output.
        if file.take(PIECE).read_to_end(&mut self.partial).is_err() {
            return Vec::new();
        }
        let Some(end) = self.partial.iter().rposition(|byte| *byte == b'\n') else {
            // A line without end is none of these errors.
            if self.partial.len() as u64 >= PIECE {
                self.partial.clear();
            }
            return Vec::new();
        };
        let rest = self.partial.split_off(end + 1);
        let lines = std::mem::replace(&mut self.partial, rest);
        String::from_utf8_lossy(&lines)
            .lines()
            .filter_map(|line| complaint(self.provider, line))
            .collect()
    }
}

impl Runner {
    /// Records the errors of attempts, or that the program continues.
    pub(super) async fn note_troubles(
        &self,
        run: &ClaimedRun,
        files: &RunFiles,
        follower: &mut Follower,
        troubles: &mut Troubles,
    ) -> Result<(), Stopping> {
        let complaints = troubles.read_complaints();
        if let Some(last) = complaints.last()
            && is_newer(files)
        {
            follower.fail(last.clone());
        }
        let now = follower.failing().map(str::to_owned);
        let before = troubles.since.as_ref().map(|(_, error)| error);
        if before == now.as_ref() && complaints.is_empty() {
            return Ok(());
        }
        let text = |error: &String| Text::lossy(error.clone()).beginning(LONGEST);
        let trouble = Trouble {
            last_error: now.as_ref().map(text),
            messages: complaints.iter().map(text).collect(),
        };
        let since = troubles.since.take().map(|(since, _)| since);
        troubles.since = now.map(|error| (since.unwrap_or_else(Instant::now), error));
        let make = || {
            let (run_id, trouble) = (run.identity.run_id.clone(), trouble.clone());
            move |tx: &mut Tx<'_>| run::record_trouble(tx, &run_id, &trouble)
        };
        let recorded = self.write_patiently("record the errors of a run", make);
        recorded.await.map(|_| ())
    }
}

/// Whether the agent's last output is on standard error.
fn is_newer(files: &RunFiles) -> bool {
    let changed = |log: std::path::PathBuf| log.metadata().and_then(|log| log.modified()).ok();
    changed(files.stderr()) > changed(files.stdout())
}
