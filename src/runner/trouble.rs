//! Notices a program that prints nothing but errors.
//!
//! # How it works
//! Some programs retry for ever when the API of their model does not answer, and print each attempt, so they are never idle. Others
//! retry in silence. So each error of an attempt begins a trouble, and each other output ends it. The errors are on standard output,
//! or on standard error, where only a newer file counts: an error that was followed by output is over. A trouble that lasts longer
//! than its limit ends the run. The ledger knows when a trouble began, so a restart of the server does not renew the limit.

use std::fs::File;
use std::io::Read;
use std::time::Duration;

use tokio::time::Instant;

use super::Runner;
use super::follow::Follower;
use super::guard::age_to_start;
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
    /// The offset of the next line of standard error.
    read_to: u64,
    /// Errors before this offset are already recorded as messages.
    recorded_to: u64,
    /// Whether the ledger has what is known here. An earlier server may have recorded a trouble that is over.
    is_recorded: bool,
    /// When the program began to print nothing but errors, and the last error that was recorded.
    since: Option<(Instant, String)>,
    limit: Duration,
}

/// The errors of attempts on standard error.
#[derive(Default)]
struct Complaints {
    last: Option<String>,
    unrecorded: Vec<String>,
}

impl Troubles {
    /// `recorded_to` is the offset of standard error up to which an earlier server recorded the errors of the run, `None` for a new run.
    pub fn new(
        provider: Provider,
        files: &RunFiles,
        limit: Duration,
        recorded_to: Option<u64>,
    ) -> Self {
        Self {
            provider,
            errors: has_complaints(provider)
                .then(|| open_plain(&files.stderr()).ok())
                .flatten(),
            partial: Vec::new(),
            read_to: 0,
            recorded_to: recorded_to.unwrap_or_default(),
            is_recorded: recorded_to.is_none(),
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
    fn read_complaints(&mut self) -> Complaints {
        let mut complaints = Complaints::default();
        // Without standard error, a run is judged by its other output.
        while let Some(file) = &mut self.errors
            && let Ok(1..) = file.take(PIECE).read_to_end(&mut self.partial)
        {
            let Some(end) = self.partial.iter().rposition(|byte| *byte == b'\n') else {
                // A line without end is none of these errors.
                if self.partial.len() as u64 >= PIECE {
                    self.read_to += self.partial.len() as u64;
                    self.partial.clear();
                }
                continue;
            };
            let rest = self.partial.split_off(end + 1);
            let lines = std::mem::replace(&mut self.partial, rest);
            for line in lines.split_inclusive(|byte| *byte == b'\n') {
                let is_recorded = self.read_to < self.recorded_to;
                self.read_to += line.len() as u64;
                let line = String::from_utf8_lossy(line);
                let Some(error) = complaint(self.provider, line.trim_end()) else {
                    continue;
                };
                if !is_recorded {
                    complaints.unrecorded.push(error.clone());
                }
                complaints.last = Some(error);
            }
        }
        complaints
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
        if let Some(last) = complaints.last
            && is_newer(files)
        {
            follower.fail(last);
        }
        let now = follower.failing().map(str::to_owned);
        let before = troubles.since.as_ref().map(|(_, error)| error);
        let is_known = before == now.as_ref() && complaints.unrecorded.is_empty();
        if is_known && troubles.is_recorded {
            return Ok(());
        }
        if !troubles.is_recorded && follower.has_progressed() {
            // The trouble that an earlier server recorded is over, even if there are errors again.
            self.record_trouble(run, Trouble::default()).await?;
        }
        let text = |error: &String| Text::lossy(error.clone()).beginning(LONGEST);
        let trouble = Trouble {
            last_error: now.as_ref().map(text),
            messages: complaints.unrecorded.iter().map(text).collect(),
            read_to: troubles.read_to,
        };
        let lasted = self.record_trouble(run, trouble).await?;
        troubles.is_recorded = true;
        let since = troubles.since.take().map(|(since, _)| since);
        let began = || age_to_start(lasted);
        troubles.since = now.map(|error| (since.unwrap_or_else(began), error));
        Ok(())
    }

    /// Returns for how long the run has had nothing but errors.
    async fn record_trouble(
        &self,
        run: &ClaimedRun,
        trouble: Trouble,
    ) -> Result<Duration, Stopping> {
        let make = || {
            let (run_id, trouble) = (run.identity.run_id.clone(), trouble.clone());
            move |tx: &mut Tx<'_>| run::record_trouble(tx, &run_id, &trouble)
        };
        let recorded = self.write_patiently("record the errors of a run", make);
        Ok(recorded.await?.unwrap_or_default())
    }
}

/// Whether the agent's last output is on standard error.
fn is_newer(files: &RunFiles) -> bool {
    let changed = |log: std::path::PathBuf| log.metadata().and_then(|log| log.modified()).ok();
    changed(files.stderr()) > changed(files.stdout())
}
