//! Starts the runner, stops runs, and reads their logs.

use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::future::join_all;

use super::{Engine, Result};
use crate::domain::{Caller, HandoffId, RunId, RunState, Task, TaskId};
use crate::error::Error;
use crate::ledger::{self, handoff, rights, run::TokenHolder};
use crate::runner::{LogStream, Runner, RunnerError, RunnerOptions, token_hash};
use crate::supervisor::RunFiles;

/// The interval at which a claimed run's log file is looked for. Its creation is no event.
const MOMENT: Duration = Duration::from_millis(10);

/// The interval for a queued run, whose start is an event.
const LONG: Duration = Duration::from_mins(1);

impl Engine {
    /// Starts the runner, which adopts the runs of an earlier server and starts queued ones.
    pub async fn run_agents(&self, options: RunnerOptions) -> std::result::Result<(), RunnerError> {
        let runner = Runner::start(self.db.clone(), options, self.stopping.clone()).await?;
        // An error means that the runner is already running.
        let _ = self.runner.set(runner);
        Ok(())
    }

    /// Wakes the runner after a run was queued.
    pub(super) fn wake_runner(&self) {
        if let Some(runner) = self.runner.get() {
            runner.wake();
        }
    }

    /// Stops the run of the task's last hand-off, and waits until its processes have ended. Returns the number of those that are left.
    pub(super) async fn stop_last_run(&self, task: &Task) -> Result<usize> {
        if let (Some(runner), Some(entry)) = (self.runner.get(), task.agent_chain().last())
            && !runner.has_nothing_to_stop()
            && let Some(run_id) = self.run_of_handoff(&entry.id).await?
        {
            return Ok(runner.stop(&run_id).await);
        }
        Ok(0)
    }

    /// Stops the cancelled run of the task's last hand-off, and the runs that were cancelled with it, all at once. Returns the number of
    /// processes that are left.
    pub(super) async fn stop_cancelled_runs(&self, task: &Task) -> Result<usize> {
        let (Some(runner), Some(entry)) = (self.runner.get(), task.agent_chain().last()) else {
            return Ok(0);
        };
        if runner.has_nothing_to_stop() {
            return Ok(0);
        }
        let id = entry.id.clone();
        let runs = self
            .read(move |view| handoff::cancelled_runs_below(view, &id))
            .await?;
        let left = join_all(runs.iter().map(|run_id| runner.stop(run_id))).await;
        Ok(left.into_iter().sum())
    }

    pub async fn token_holder(&self, token: &str) -> Result<Option<TokenHolder>> {
        let hash = token_hash(token);
        self.read(move |view| ledger::run::token_holder(view, &hash))
            .await
    }

    /// Finds the run of a process that calls without a token.
    pub async fn find_holder(&self, id: RunId) -> Result<Option<TokenHolder>> {
        self.read(move |view| ledger::run::find_holder(view, &id))
            .await
    }

    /// Whether a process on this machine may belong to a run.
    pub fn has_live_runs(&self) -> bool {
        self.runner.get().is_some_and(Runner::has_live_runs)
    }

    /// Waits until what the calling agent has printed so far is recorded, for the agent that gets control next.
    pub(super) async fn catch_up(&self, caller: &Caller) {
        if let (Some(runner), Some(run)) = (self.runner.get(), caller.run()) {
            runner.catch_up(&run.run_id).await;
        }
    }

    /// Returns the number of agents whose process may be alive.
    pub fn live_runs(&self) -> usize {
        self.runner.get().map_or(0, Runner::live_runs)
    }

    pub async fn check_may_change(&self, caller: &Caller, task_id: &TaskId) -> Result<()> {
        // Only a run's rights depend on the ledger.
        if caller.run().is_none() {
            return Ok(rights::may_use_api(caller)?);
        }
        let (caller, task_id) = (caller.clone(), task_id.clone());
        self.read(move |view| rights::may_change_task(view, &caller, &task_id))
            .await
    }

    pub async fn check_may_plan(&self, caller: &Caller, task_id: &TaskId) -> Result<()> {
        if caller.run().is_none() {
            return Ok(rights::may_use_api(caller)?);
        }
        let (caller, task_id) = (caller.clone(), task_id.clone());
        self.read(move |view| rights::may_plan(view, &caller, &task_id))
            .await
    }

    /// Returns the task that a mail or an alert is about. A run may name its own task, which is the default, or a descendant.
    pub(super) async fn subject_task(
        &self,
        caller: &Caller,
        asked: Option<TaskId>,
    ) -> Result<Option<TaskId>> {
        if let Some(task_id) = &asked {
            self.check_may_change(caller, task_id).await?;
        }
        Ok(asked.or_else(|| caller.run().map(|run| run.task_id.clone())))
    }

    async fn run_of_handoff(&self, id: &HandoffId) -> Result<Option<RunId>> {
        let id = id.clone();
        self.read(move |view| ledger::run::of_handoff(view, &id))
            .await
    }

    /// Finds the last run of a hand-off, and its files.
    pub async fn run_files(&self, id: &HandoffId) -> Result<(RunId, RunFiles)> {
        self.handoff(id).await?;
        let run_id = self.run_of_handoff(id).await?;
        let run_id = run_id.ok_or_else(|| {
            Error::NotFound(format!("Hand-off {id} has no run, so it has no log"))
        })?;
        let files = RunFiles::new(&self.options.data_dir.run(&run_id));
        Ok((run_id, files))
    }

    /// Waits until the run of a hand-off has a log file, the hand-off has ended, or the server stops. Returns at once on a
    /// server that starts no agents.
    pub async fn wait_for_log(&self, id: &HandoffId, log: LogStream) -> Result<()> {
        if self.runner.get().is_none_or(Runner::has_nothing_to_stop) {
            return Ok(());
        }
        let handoff = self.handoff(id).await?;
        let watch = self.feed().watch(&handoff.task_id);
        loop {
            let changed = watch.changed();
            let handoff = self.handoff(id).await?;
            let (_, files) = self.run_files(id).await?;
            let is_queued = handoff.run.is_none_or(|run| run.state == RunState::Queued);
            if log.file(&files).exists() || handoff.outcome.is_some() {
                return Ok(());
            }
            // A claimed run creates its files shortly, without an event.
            let soon = if is_queued { LONG } else { MOMENT };
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep(soon) => {}
                () = self.stopping.cancelled() => return Ok(()),
            }
        }
    }

    /// Streams the output of a run until its process has ended. `None` if this server has no runner.
    pub async fn follow_log(
        &self,
        run_id: &RunId,
        log: LogStream,
        from: u64,
    ) -> Result<Option<impl Stream<Item = std::io::Result<Bytes>> + Send + use<>>> {
        match self.runner.get() {
            None => Ok(None),
            Some(runner) => Ok(Some(
                runner
                    .follow_log(run_id, log, from)
                    .await
                    .map_err(Error::io)?,
            )),
        }
    }
}
