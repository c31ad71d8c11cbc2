//! Runs agents.
//!
//! # How it works
//! The scheduler claims queued runs while slots are free, and follows each run in its own task: create the run directory, start the
//! supervisor, read the output, wait until the supervisor has ended, record the outcome. After a restart, the server adopts
//! every run that has started and not ended; the run directory shows its progress. A living supervisor is followed
//! again. A dead one has left `exit.json`, or at least the agent's output. If neither shows an end, the run is recorded as
//! interrupted.
//!
//! The server does not depend on being the parent, and never acts on a stored pid: a living supervisor is recognised by
//! its lock, and receives orders through a named pipe in the run directory. The server signals processes itself only if the
//! supervisor was killed or does not follow its orders.

mod cgroups;
mod first_start;
mod follow;
mod guard;
mod installation;
mod isolation;
mod jobs;
mod leftovers;
mod log;
mod mail;
mod processes;
mod prompt;
pub mod providers;
mod reading;
mod resources;
mod run_dir;
mod shortage;
mod spec;
mod supervised;
mod tmux;
mod trouble;
mod waits;
mod watch;
mod workspace;

pub use isolation::{MaskProblem, check_masks};
pub use jobs::{JobState, poll as poll_job};
pub use log::LogStream;
pub use resources::Resources;
pub use run_dir::open_log;
pub use spec::{SpecError, check_spec_path, read_spec};
pub use tmux::{follow as follow_in_tmux, is_installed as tmux_is_installed};
pub use workspace::Workspaces;

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::sync::{Notify, watch as signal};
use tokio_util::sync::CancellationToken;

use crate::config::DataDir;
use crate::domain::{HandoffId, Isolation, RunId};
use crate::error::with_sources;
use crate::ledger::run::{self, ClaimRun, ClaimedRun};
use crate::secret::Token;
use crate::store::{Database, StoreError, View};
use crate::supervisor::{Order, RunFiles};
use cgroups::Cgroups;
use first_start::FirstStarts;
use guard::Guard;
use installation::Installation;
use isolation::Masks;
use processes::Carried;
use run_dir::SupervisorChild;
use shortage::{Pause, Stopping, patiently};
use supervised::LaunchError;
use waits::Told;
use watch::Watcher;

#[derive(Debug, Clone)]
pub struct RunnerOptions {
    /// The parent of the run directories.
    pub data_dir: DataDir,
    pub workspaces: Workspaces,
    /// The isolation of agents that do not name one.
    pub isolation: Isolation,
    /// The program to start as a supervisor: this one.
    pub program: PathBuf,
    /// The server's URL, for agents.
    pub url: String,
    pub max_runs: u32,
    /// The default time limit of a run.
    pub max_seconds: u64,
    /// The default limit of a run's time without output.
    pub idle_seconds: u64,
    /// The limit of a run's time with nothing but errors.
    pub error_seconds: u64,
    /// The time between the stop signal and SIGKILL.
    pub grace_seconds: u64,
    /// Whether tags in watched files show the state of requests.
    pub writes_tags: bool,
    /// Names of variables that agents inherit beside the usual ones. `*` at the end stands for any rest.
    pub pass_env: Vec<String>,
}

/// How long a run waits until the files of its requests say `claimed`.
const TAG_WAIT: Duration = Duration::from_secs(5);

/// The pause of the scheduler when nothing is due.
const LONG: Duration = Duration::from_hours(1);

/// The resources of a search for processes.
const TO_SEARCH: Resources = Resources {
    bytes: 0,
    descriptors: 8,
    threads: 0,
};

/// The time limit for concluding a run that ended without a server, before the runs that wait for it are adopted.
const CONCLUDED_BY: Duration = Duration::from_secs(10);

/// Starts agents and records their outcomes. Clones share one runner.
#[derive(Clone)]
pub struct Runner(Arc<Inner>);

struct Inner {
    db: Database,
    options: RunnerOptions,
    installation: Installation,
    masks: Arc<Masks>,
    cgroups: Arc<Cgroups>,
    first_starts: Arc<FirstStarts>,
    wake: Notify,
    watcher: Watcher,
    stopping: CancellationToken,
    /// The number of runs whose process is being started.
    launching: AtomicUsize,
    /// The runs whose process may be alive, with the signal that the process has ended.
    live: Mutex<HashMap<RunId, Live>>,
    /// Held while a run is claimed and started, so that its holder finds every claimed run in `live`.
    starting: tokio::sync::Mutex<()>,
    pause: Pause,
    told: Told,
}

/// A run whose process is being started, until it is dropped.
struct Launching<'a>(&'a AtomicUsize);

impl<'a> Launching<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A run whose process may be alive.
#[derive(Debug, Clone)]
struct Live {
    gone: signal::Receiver<bool>,
    guard: Arc<Guard>,
}

#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    #[error("Cannot watch files")]
    Watch(#[source] std::io::Error),
    #[error("Cannot read the data directory; check its permissions")]
    DataDir(#[source] std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why no run was started.
enum StartError {
    Stopping,
    /// A message for users.
    Short(String),
}

impl From<Stopping> for StartError {
    fn from(_: Stopping) -> Self {
        Self::Stopping
    }
}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Closed => Self::Stopping,
            other => Self::Short(with_sources(&other)),
        }
    }
}

impl Runner {
    /// Adopts the runs of an earlier server, and begins to start queued ones.
    pub async fn start(
        db: Database,
        options: RunnerOptions,
        stopping: CancellationToken,
    ) -> Result<Self, RunnerError> {
        let watch = "watch files (if this lasts, raise fs.inotify.max_user_instances)";
        let watcher = patiently(&stopping, watch, Watcher::start)
            .await
            .map_err(|Stopping| StoreError::Closed)?
            .map_err(RunnerError::Watch)?;
        let installation = Installation::of(&options.data_dir).map_err(RunnerError::DataDir)?;
        let inner = Inner {
            db,
            masks: Arc::new(Masks::new(options.data_dir.clone())),
            cgroups: Arc::new(Cgroups::find()),
            options,
            installation,
            first_starts: Arc::default(),
            wake: Notify::new(),
            watcher,
            stopping,
            launching: AtomicUsize::new(0),
            live: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            pause: Pause::default(),
            told: Told::default(),
        };
        let runner = Self(Arc::new(inner));
        runner.adopt_all().await?;
        runner.tell_waits().await?;
        runner.stop_unwanted().await?;
        let installation = &runner.0.installation;
        let is_ours = |mark: &str| installation.marked_run(mark).is_some();
        runner.0.cgroups.remove_left(is_ours);
        tokio::spawn(runner.clone().follow_waits());
        tokio::spawn(runner.clone().schedule());
        runner.wake();
        Ok(runner)
    }

    /// Signals that a run may be ready to start.
    pub fn wake(&self) {
        self.0.wake.notify_one();
    }

    /// Adopts the runs of an earlier server. An answer that came without a server is recorded before the end of the agent that waited for it:
    /// the end of that agent would cancel the work.
    async fn adopt_all(&self) -> Result<(), StoreError> {
        let read = |view: &View<'_>| Ok((run::running(view)?, run::waits(view)?));
        let (running, waits) = self.0.db.read(read).await?;
        let is_awaited = |run: &ClaimedRun| {
            let mut awaited = waits.iter().filter_map(|wait| wait.awaited_run.as_ref());
            awaited.any(|awaited| *awaited == run.identity.run_id)
        };
        let (awaited, others): (Vec<_>, Vec<_>) = running.into_iter().partition(is_awaited);
        // An agent asks before the other one begins, so the newest run waits for none of the others.
        for run in awaited.into_iter().rev() {
            let run_id = run.identity.run_id.clone();
            let is_over = !self.is_held(&self.files(&run_id)).await?;
            self.adopt(run).await?;
            if is_over && let Some(mut gone) = self.end_signal(&run_id).await {
                // On timeout, the run is concluded later.
                let _ = tokio::time::timeout(CONCLUDED_BY, gone.wait_for(|is_gone| *is_gone)).await;
            }
        }
        for run in others {
            self.adopt(run).await?;
        }
        Ok(())
    }

    /// Follows a run that an earlier server started, or requeues one that it claimed but did not start.
    async fn adopt(&self, run: ClaimedRun) -> Result<(), StoreError> {
        if !self.0.installation.has_claimed(&run) {
            self.follow(run, None);
            return Ok(());
        }
        let files = self.files(&run.identity.run_id);
        let was_started = run.launch.is_some()
            || self.is_held(&files).await?
            || files.exit().exists()
            || run_dir::was_agent_started(&files);
        if !was_started {
            let run_id = run.identity.run_id;
            return self
                .0
                .db
                .write(move |tx| run::return_run(tx, &run_id))
                .await;
        }
        tracing::info!(run_id = %run.identity.run_id, agent = %run.identity.agent_name, "adopted a run of an earlier server");
        self.follow(run, None);
        Ok(())
    }

    /// Whether a supervisor holds the run's lock.
    async fn is_held(&self, files: &RunFiles) -> Result<bool, StoreError> {
        let held = self.patiently("try the lock of a run", || run_dir::is_held(files));
        let held = held.await.map_err(|Stopping| StoreError::Closed)?;
        held.map_err(|error| StoreError::Source(error.into()))
    }

    /// Stops the runs of ended hand-offs that still have processes. Their server died before it stopped them, or their supervisors
    /// were killed while no server was running.
    async fn stop_unwanted(&self) -> Result<(), StoreError> {
        let carried = tokio::task::spawn_blocking(leftovers::carried)
            .await
            .map_err(|error| StoreError::Source(error.into()))?;
        for carried in carried {
            let run_id = match carried {
                Carried::Mark(mark) => self.0.installation.marked_run(&mark),
                Carried::Handoff(id) => self.find_run_of(&id).await?,
                Carried::Nothing => None,
            };
            if let Some(run_id) = run_id
                && !self.live().contains_key(&run_id)
                && let Some(run) = self.find_run(&run_id).await?
                && self.0.installation.has_claimed(&run)
            {
                tracing::info!(%run_id, "stopping a run whose hand-off has ended");
                self.follow(run, None).stop();
            }
        }
        Ok(())
    }

    /// Starts queued runs while slots are free, until the server stops. A server without slots only adopts runs.
    async fn schedule(self) {
        if self.0.options.max_runs == 0 {
            return;
        }
        let mut pause = LONG;
        loop {
            tokio::select! {
                () = self.0.stopping.cancelled() => return,
                () = self.0.wake.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
            if let Err(Stopping) = self.wait_for_resources().await {
                return;
            }
            pause = LONG;
            match self.start_queued().await {
                Ok(next) => {
                    self.0.pause.end();
                    pause = next;
                }
                Err(StartError::Stopping) => return,
                Err(StartError::Short(reason)) => self.pause(reason),
            }
        }
    }

    /// Returns the time after which another run may start.
    async fn start_queued(&self) -> Result<Duration, StartError> {
        while self.start_next().await? {}
        let Some(wait) = self.tag_wait() else {
            return Ok(LONG);
        };
        let due = self.0.db.write(move |tx| run::tags_due(tx, wait)).await?;
        Ok(due.unwrap_or(LONG))
    }

    fn tag_wait(&self) -> Option<Duration> {
        self.0.options.writes_tags.then_some(TAG_WAIT)
    }

    /// Starts the next queued run if a slot is free. Returns whether a run was claimed.
    async fn start_next(&self) -> Result<bool, StartError> {
        let token = Token::random().map_err(|error| StartError::Short(error.to_string()))?;
        let starting = self.0.starting.lock().await;
        let claim = ClaimRun {
            max_runs: self.0.options.max_runs,
            installation: self.0.installation.name(),
            live: self.live().keys().cloned().collect(),
            token_hash: token_hash(token.reveal()),
            isolation: self.0.options.isolation,
            tag_wait: self.tag_wait(),
        };
        let claimed = self.0.db.write(move |tx| run::claim(tx, &claim)).await?;
        let Some(run) = claimed else {
            return Ok(false);
        };
        // The agent that waits for this run must not wait with running limits, even if the server dies now.
        self.tell_waits().await?;
        // An agent may call before its start has returned.
        let _launching = Launching::begin(&self.0.launching);
        match self.launch(&run, &token).await {
            Ok(supervisor) => {
                self.follow(run, Some(supervisor));
            }
            Err(LaunchError::Closed) => return Err(StartError::Stopping),
            Err(LaunchError::Short(reason)) => {
                drop(starting);
                self.requeue(&run, reason.clone()).await?;
                return Err(StartError::Short(reason));
            }
            Err(LaunchError::Failed(problem)) => {
                drop(starting);
                self.fail(&run, problem).await?;
            }
        }
        Ok(true)
    }

    /// Follows and guards a run to its end in the background. `supervisor` is a child of this server.
    fn follow(&self, run: ClaimedRun, supervisor: Option<Child>) -> Arc<Guard> {
        let (gone, is_gone) = signal::channel(false);
        let guard = Arc::new(Guard::new());
        let live = Live {
            gone: is_gone.clone(),
            guard: guard.clone(),
        };
        self.live().insert(run.identity.run_id.clone(), live);
        let pid = supervisor.as_ref().map(Child::id);
        tokio::spawn(self.clone().guard(run.clone(), pid, is_gone));
        if supervisor.is_some() {
            tokio::spawn(self.clone().record_launch(run.clone()));
        }
        let runner = self.clone();
        let its_guard = guard.clone();
        let supervisor = SupervisorChild::new(supervisor);
        tokio::spawn(async move {
            let run_id = run.identity.run_id.clone();
            let followed = runner.follow_to_end(run.clone(), &supervisor, &its_guard);
            if let Err(Stopping) = followed.await {
                return;
            }
            // An agent can write the end of its run, kill its supervisor and go on.
            if its_guard.forced().is_none()
                && supervisor.was_killed().await
                && let Err(Stopping) = runner.end_processes(&run, supervisor.pid()).await.map(drop)
            {
                return;
            }
            runner
                .0
                .cgroups
                .remove(&runner.0.installation.mark(&run_id));
            runner.live().remove(&run_id);
            // The receivers may be gone.
            let _ = gone.send(true);
            runner.wake();
        });
        guard
    }

    /// Whether a run may have processes.
    pub fn has_live_runs(&self) -> bool {
        // The order matters: a run is live before it is no longer launching.
        self.0.launching.load(Ordering::SeqCst) > 0 || self.live_runs() > 0
    }

    /// Waits until what the agent of a run has printed so far is recorded.
    pub async fn catch_up(&self, run_id: &RunId) {
        let live = self.live().get(run_id).cloned();
        let Some(Live { mut gone, guard }) = live else {
            return;
        };
        tokio::select! {
            () = guard.reading.catch_up() => {}
            _ = gone.wait_for(|is_gone| *is_gone) => {}
        }
    }

    pub fn live_runs(&self) -> usize {
        self.live().len()
    }

    /// Whether no agent process can be alive.
    pub fn has_nothing_to_stop(&self) -> bool {
        self.0.options.max_runs == 0 && self.live().is_empty()
    }

    /// Stops a run whose hand-off has ended, and waits until its whole process tree has ended, but not without limit. Returns the
    /// number of processes that survived SIGKILL.
    pub async fn stop(&self, run_id: &RunId) -> usize {
        let mut left = 0;
        if let Some(mut live) = self.live_run(run_id).await {
            live.guard.stop();
            let grace = Duration::from_secs(self.0.options.grace_seconds);
            // An error means that the run is no longer followed: it has ended.
            let ended = live.gone.wait_for(|is_gone| *is_gone);
            if tokio::time::timeout(grace + guard::LONGEST_END, ended)
                .await
                .is_err()
            {
                tracing::error!(%run_id, "a stopped run has not ended in time");
            }
            let forced = live.guard.forced();
            left = forced.and_then(|forced| forced.left).unwrap_or(0);
        }
        self.wake();
        left
    }

    /// Waits for the end of a run that has transferred control, and stops the run after the grace period.
    pub async fn wind_down(&self, run_id: &RunId) {
        if let Some(mut gone) = self.end_signal(run_id).await {
            let grace = Duration::from_secs(self.0.options.grace_seconds);
            // On timeout, the run is stopped below.
            let _ = tokio::time::timeout(grace, gone.wait_for(|is_gone| *is_gone)).await;
        }
        self.stop(run_id).await;
    }

    /// Returns the signal that a run has ended, or `None` if it has ended or never started.
    async fn end_signal(&self, run_id: &RunId) -> Option<signal::Receiver<bool>> {
        self.live_run(run_id).await.map(|live| live.gone)
    }

    async fn live_run(&self, run_id: &RunId) -> Option<Live> {
        let _starting = self.0.starting.lock().await;
        self.live().get(run_id).cloned()
    }

    /// Sends an order to a supervisor. Returns whether it was delivered.
    fn order(&self, run_id: &RunId, order: Order) -> bool {
        run_dir::order(&self.files(run_id), order).unwrap_or_else(|error| {
            tracing::error!(%error, %run_id, ?order, "cannot send an order to a supervisor");
            false
        })
    }

    fn live(&self) -> MutexGuard<'_, HashMap<RunId, Live>> {
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

    fn files(&self, run_id: &RunId) -> RunFiles {
        RunFiles::new(&self.0.options.data_dir.run(run_id))
    }
}

/// Returns the hash under which a token is stored.
pub fn token_hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
