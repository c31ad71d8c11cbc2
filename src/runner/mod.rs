//! How agents run.
//!
//! # How it works
//! The scheduler takes queued runs while slots are free and starts each as a task of its own: make the run directory,
//! start the supervisor, read along, wait until the supervisor is gone, record the end. After a restart every run that
//! was started and has not ended goes the same way from the middle: its directory says how far it is. A supervisor that
//! lives is followed on; one that is gone left `exit.json`, or at least what the agent printed; if neither tells of an
//! end, the run is interrupted.
//!
//! The server never is the parent that matters, and no pid is ever acted on: a supervisor is known by the lock that it
//! holds, and asked to stop through a pipe in its directory. Only a process that carries the id of a hand-off whose
//! supervisor was killed is ended directly.

mod follow;
mod jobs;
mod leftovers;
mod log;
mod mail;
mod prompt;
pub mod providers;
mod run_dir;
mod spec;
mod supervised;
mod tmux;
mod watch;

pub use jobs::{JobState, ask as ask_after_job};
pub use log::LogStream;
pub use run_dir::open_log;
pub use spec::read_spec;
pub use tmux::{follow as follow_in_tmux, is_installed as tmux_is_installed};

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::sync::{Notify, watch as signal};
use tokio_util::sync::CancellationToken;

use crate::config::DataDir;
use crate::domain::{HandoffId, RunId};
use crate::error::with_sources;
use crate::ledger::run::{self, ClaimRun, ClaimedRun};
use crate::secret::Token;
use crate::store::{Database, StoreError};
use crate::supervisor::{Order, RunFiles};
use watch::Watcher;

/// How agents are run.
#[derive(Debug, Clone)]
pub struct RunnerOptions {
    /// Where run directories are.
    pub data_dir: DataDir,
    /// The program that is started as a supervisor: this one.
    pub program: PathBuf,
    /// Where agents find the server.
    pub url: String,
    /// How many agents work at the same time.
    pub max_runs: u32,
    /// How many seconds a run may take, where its agent does not say.
    pub max_seconds: u64,
    /// How many seconds a run may be silent, where its agent does not say.
    pub idle_seconds: u64,
    /// How many seconds a program may take to end when it is asked to.
    pub grace_seconds: u64,
}

/// How long to wait before something that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Starts agents and records what becomes of them. Clones are the same runner.
#[derive(Clone)]
pub struct Runner(Arc<Inner>);

struct Inner {
    db: Database,
    options: RunnerOptions,
    wake: Notify,
    watcher: Watcher,
    stopping: CancellationToken,
    /// The runs whose process may live, and who waits for them to be gone.
    live: Mutex<HashMap<RunId, signal::Receiver<bool>>>,
    /// Held while a run is taken and started. Whoever has it finds every run that was taken among the live ones.
    starting: tokio::sync::Mutex<()>,
}

/// Why a runner cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The system gives no notice of files.
    #[error("cannot watch files")]
    Watch(#[source] std::io::Error),
    /// The ledger cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Runner {
    /// Takes up the runs that were under way, and begins to start queued ones.
    pub async fn start(
        db: Database,
        options: RunnerOptions,
        stopping: CancellationToken,
    ) -> Result<Self, RunnerError> {
        let watcher = Watcher::start().map_err(RunnerError::Watch)?;
        let inner = Inner {
            db,
            options,
            wake: Notify::new(),
            watcher,
            stopping,
            live: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
        };
        let runner = Self(Arc::new(inner));
        runner.end_leftovers().await?;
        for run in runner.0.db.read(run::running).await? {
            runner.adopt(run).await?;
        }
        runner.stop_unwanted().await?;
        tokio::spawn(runner.clone().schedule());
        runner.wake();
        Ok(runner)
    }

    /// Says that there may be something to start.
    pub fn wake(&self) {
        self.0.wake.notify_one();
    }

    /// Goes on with a run that an earlier server started, or puts back one that it did not.
    async fn adopt(&self, run: ClaimedRun) -> Result<(), StoreError> {
        let files = self.files(&run.identity.run_id);
        let was_started = run_dir::is_held(&files)
            || files.started().exists()
            || files.exit().exists()
            || run_dir::has_output(&files);
        // A copy of the database in another data directory must not do again what the first one did.
        if !was_started && run.claimed_in.as_deref() == Some(&*self.own_name()) {
            let run_id = run.identity.run_id;
            return self
                .0
                .db
                .write(move |tx| run::return_run(tx, &run_id))
                .await;
        }
        tracing::info!(run_id = %run.identity.run_id, agent = %run.identity.agent_name, "took up a run");
        self.follow(run, false);
        Ok(())
    }

    /// Ends what is left of runs whose supervisors were killed while no server was there.
    async fn end_leftovers(&self) -> Result<(), StoreError> {
        for handoff_id in leftovers::carried_ids() {
            if let Some(run_id) = self.find_run_of(&handoff_id).await?
                && !run_dir::is_held(&self.files(&run_id))
            {
                end_processes(handoff_id).await;
            }
        }
        Ok(())
    }

    /// Stops the runs whose hand-offs were ended from outside by a server that died before it could stop them.
    async fn stop_unwanted(&self) -> Result<(), StoreError> {
        for run_id in run_dir::held(&self.0.options.data_dir.runs()) {
            if self.live().contains_key(&run_id) {
                continue;
            }
            if let Some(run) = self.find_run(&run_id).await? {
                tracing::info!(%run_id, "stops a run that is no longer wanted");
                self.follow(run, false);
                self.order(&run_id, Order::Stop);
            }
        }
        Ok(())
    }

    /// Starts queued runs while there are free slots, until the server stops. A server without slots only takes up runs.
    async fn schedule(self) {
        if self.0.options.max_runs == 0 {
            return;
        }
        loop {
            tokio::select! {
                () = self.0.stopping.cancelled() => return,
                () = self.0.wake.notified() => {}
            }
            match self.start_queued().await {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::error!(error = %with_sources(&error), "cannot take queued runs; trying again");
                    tokio::time::sleep(RETRY).await;
                    self.wake();
                }
            }
        }
    }

    async fn start_queued(&self) -> Result<(), StoreError> {
        while self.start_next().await? {}
        Ok(())
    }

    /// Starts the next queued run, if there is one and a slot for it.
    async fn start_next(&self) -> Result<bool, StoreError> {
        let token = Token::random().map_err(|error| StoreError::Source(error.into()))?;
        let starting = self.0.starting.lock().await;
        let claim = ClaimRun {
            max_runs: self.0.options.max_runs,
            data_dir: self.own_name(),
            live: self.live().keys().cloned().collect(),
            token_hash: token_hash(token.reveal()),
        };
        let claimed = self.0.db.write(move |tx| run::claim(tx, &claim)).await?;
        let Some(run) = claimed else {
            return Ok(false);
        };
        match self.launch(&run, &token).await {
            Ok(()) => self.follow(run, true),
            Err(problem) => {
                drop(starting);
                self.fail(&run, problem).await;
            }
        }
        Ok(true)
    }

    /// Follows a run to its end, in the background.
    fn follow(&self, run: ClaimedRun, is_new: bool) {
        let (gone, is_gone) = signal::channel(false);
        self.live().insert(run.identity.run_id.clone(), is_gone);
        let runner = self.clone();
        tokio::spawn(async move {
            let run_id = run.identity.run_id.clone();
            runner.supervised(run, is_new).await;
            runner.live().remove(&run_id);
            // Whoever waited may have gone.
            let _ = gone.send(true);
            runner.wake();
        });
    }

    /// Tells whether no process of an agent can be alive.
    pub fn has_nothing_to_stop(&self) -> bool {
        self.0.options.max_runs == 0 && self.live().is_empty()
    }

    /// Ends the process of a run whose hand-off has ended, and waits until all of its tree is gone.
    pub async fn stop(&self, run_id: &RunId) {
        if let Some(mut gone) = self.gone(run_id).await {
            if !self.order(run_id, Order::Stop)
                && let Ok(Some(run)) = self.find_run(run_id).await
            {
                // The agent took away what its supervisor listens to; the supervisor ends with it.
                end_processes(run.identity.handoff_id).await;
            }
            // An error means that nobody follows it any more: it is gone.
            let _ = gone.wait_for(|is_gone| *is_gone).await;
        }
        self.wake();
    }

    /// Lets a run that has passed control on finish what it says, for as long as any may after its result, then ends it.
    pub async fn wind_down(&self, run_id: &RunId) {
        if let Some(mut gone) = self.gone(run_id).await {
            let grace = Duration::from_secs(self.0.options.grace_seconds);
            // However this ends, nothing is left of the run afterwards.
            let _ = tokio::time::timeout(grace, gone.wait_for(|is_gone| *is_gone)).await;
        }
        self.stop(run_id).await;
    }

    /// Returns what tells when a run is gone; nothing if it is, or was never started.
    async fn gone(&self, run_id: &RunId) -> Option<signal::Receiver<bool>> {
        let _starting = self.0.starting.lock().await;
        self.live().get(run_id).cloned()
    }

    /// Gives a supervisor an order. Returns whether it could be given.
    fn order(&self, run_id: &RunId, order: Order) -> bool {
        run_dir::order(&self.files(run_id), order).unwrap_or_else(|error| {
            tracing::error!(%error, %run_id, ?order, "cannot give a supervisor an order");
            false
        })
    }

    fn live(&self) -> MutexGuard<'_, HashMap<RunId, signal::Receiver<bool>>> {
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn find_run(&self, id: &RunId) -> Result<Option<ClaimedRun>, StoreError> {
        let id = id.clone();
        self.0.db.read(move |view| run::find(view, &id)).await
    }

    async fn find_run_of(&self, id: &HandoffId) -> Result<Option<RunId>, StoreError> {
        let id = id.clone();
        self.0.db.read(move |view| run::of_handoff(view, &id)).await
    }

    /// Returns what this installation is known by.
    fn own_name(&self) -> String {
        self.0
            .options
            .data_dir
            .path()
            .to_string_lossy()
            .into_owned()
    }

    fn files(&self, run_id: &RunId) -> RunFiles {
        RunFiles::new(&self.0.options.data_dir.run(run_id))
    }
}

/// Ends all processes of a hand-off that nobody holds.
async fn end_processes(handoff_id: HandoffId) {
    let id = handoff_id.clone();
    match tokio::task::spawn_blocking(move || leftovers::end(&id)).await {
        // They have ended with their supervisor, as it should be.
        Ok(0) => {}
        Ok(signals) => {
            tracing::warn!(%handoff_id, signals, "ended what a killed supervisor had left behind");
        }
        Err(error) => tracing::error!(%error, "cannot end what a supervisor left behind"),
    }
}

/// Returns what is kept of a token.
pub fn token_hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
