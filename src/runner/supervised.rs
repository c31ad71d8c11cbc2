//! Follows one run from its launch to its recorded outcome.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use super::follow::Follower;
use super::guard::Guard;
use super::installation::MARK;
use super::isolation::{MaskProblem, MaskedRun};
use super::jobs::launched_agent;
use super::mail::DeliveredMail;
use super::prompt::EarlierPrompts;
use super::providers::{self, Places, ProcessEnd, Report, judge, with_advice};
use super::run_dir::{RunTexts, SupervisorChild};
use super::shortage::{RETRY, Stopping, on_thread};
use super::spec::SpecError;
use super::trouble::Troubles;
use super::{Runner, prompt, run_dir, spec};
use crate::domain::{
    Agent, Isolation, Outcome, Provider, ProviderSession, RunLimit, Text, TraceParent,
};
use crate::error::{describe, with_sources};
use crate::ledger::mail::{self, DeliverMail};
use crate::ledger::run::{self, Briefing, ClaimedRun, FinishRun, Launch, Limits};
use crate::ledger::task::{self, DeliveredQueue};
use crate::secret::Token;
use crate::store::{StoreError, Tx};

use crate::supervisor::{Cause, End, Order, RunExit, RunFiles, RunSpec, may_pass};
use crate::words;

/// The number of bytes that are read from the end of standard error.
const STDERR_READ: u64 = 64 * 1024;

/// The reason why a claimed run did not start.
pub(super) enum LaunchError {
    /// A shortage, as a message for users. The run returns to the queue.
    Short(String),
    /// The database was closed because the server stops. The run stays claimed, and the next server starts it.
    Closed,
    /// A message for users.
    Failed(String),
}

impl From<StoreError> for LaunchError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Closed => Self::Closed,
            StoreError::Unavailable { .. } => Self::Short(with_sources(&error)),
            other => Self::Failed(describe(&other)),
        }
    }
}

impl From<SpecError> for LaunchError {
    fn from(error: SpecError) -> Self {
        if error.may_pass {
            Self::Short(error.to_string())
        } else {
            Self::Failed(error.to_string())
        }
    }
}

impl LaunchError {
    /// Makes the error of an attempt that may succeed later, or that fails until somebody follows the advice.
    fn of(error: &std::io::Error, problem: &str, advice: &str) -> Self {
        if may_pass(error) {
            Self::Short(format!("{problem}: {error}"))
        } else {
            Self::Failed(format!("{problem}: {error}{advice}"))
        }
    }
}

impl Runner {
    /// Creates the run directory and starts the supervisor.
    pub(super) async fn launch(
        &self,
        run: &ClaimedRun,
        token: &Token,
    ) -> Result<Child, LaunchError> {
        let claimed = run.clone();
        let mut briefing = self
            .0
            .db
            .read(move |view| run::briefing(view, &claimed))
            .await?;
        let mail = self.deliver_mail(run, &briefing).await?;
        let queue = self.deliver_queue(run).await?;
        let options = self.0.options.clone();
        let mark = self.0.installation.mark(&run.identity.run_id);
        let masks = self.0.masks.clone();
        let cgroups = self.0.cgroups.clone();
        let first_starts = self.0.first_starts.clone();
        let limits = self.limits(run);
        let (run, token) = (run.clone(), token.clone());
        let launch = move || -> Result<Child, LaunchError> {
            let agent = launched_agent(&run).ok_or_else(|| {
                LaunchError::Failed(format!(
                    "Agent {} was deleted before its run started; hand off to another agent",
                    run.identity.agent_name
                ))
            })?;
            let agent = &agent;
            if let Some(command) = words::values_to_set(agent) {
                return Err(LaunchError::Failed(format!(
                    "Variables of agent {} have no value; set them: {command}",
                    agent.name
                )));
            }
            let files = RunFiles::new(&options.data_dir.run(&run.identity.run_id));
            let resumes = run.resumes.clone().map(ProviderSession::parse).transpose();
            let resumes = resumes.map_err(|error| {
                LaunchError::Failed(format!("The session to resume is unusable: its id {error}. Hand off again without `resume`."))
            })?;
            let line = providers::command_line(agent, &files.system(), resumes.as_ref());
            let line = line.map_err(|problems| {
                LaunchError::Failed(format!(
                    "The permissions of agent {} cannot be carried out: {problems}",
                    agent.name
                ))
            })?;
            if line.program.is_empty() {
                return Err(LaunchError::Failed(format!(
                    "Agent {} has no program; set its `program`",
                    agent.name
                )));
            }
            let system = match agent.provider {
                Provider::Command if agent.spec_path.is_blank() => String::new(),
                _ => spec::read_spec(agent, options.data_dir.path())?,
            };
            let known = EarlierPrompts::read(&briefing, &options.data_dir);
            if known.is_some() {
                briefing.leave_out_told();
            }
            // A command that starts an external job is not an agent, and gets only the request.
            let text = if run.starts_job() {
                run.prompt.to_string()
            } else {
                prompt::compose(
                    &run,
                    &briefing,
                    &mail,
                    &queue,
                    &options.data_dir,
                    known.as_ref(),
                )
            };
            let workspace = run.task.agent_workspace.as_str();
            let workspace = options.workspaces.enter(Path::new(workspace)).map_err(|problem| {
                let sentence = format!("Workspace {workspace} {problem}");
                if problem.may_pass() {
                    LaunchError::Short(sentence)
                } else {
                    LaunchError::Failed(format!("{sentence}. Put a directory there that agents may use, or give the task another one: chorus task edit {} --workspace DIR", run.identity.task_id))
                }
            })?;
            let home = agent
                .environment
                .values()
                .find(|(name, _)| name.as_str() == "HOME");
            let home = home.map(|(_, home)| home.to_string().into());
            let home = home.or_else(|| std::env::var_os("HOME").map(PathBuf::from));
            let places = Places {
                workspace: &workspace,
                home: home.as_deref(),
            };
            let mut text = providers::plain_text(agent.provider, &text, places).into_owned();
            if let Some(name) = line.ignored_instructions
                && workspace.join(name).is_file()
            {
                let read = format!(
                    "Read the file {name} of the workspace before you begin, and follow it.\n\n"
                );
                text.insert_str(0, &read);
            }
            let spec = format!("{system}\n\n");
            let is_known = known.is_some_and(|known| known.have_told_spec(&spec));
            if !line.takes_system_file && !system.is_empty() && !is_known {
                text.insert_str(0, &spec);
            }
            // The command that starts an external job is the operator's, and not an agent.
            let inherited = if run.starts_job() {
                std::env::vars_os().collect()
            } else {
                providers::inherited(agent, &options.pass_env, std::env::vars_os())
            };
            first_starts.prepare(agent.provider, &line, &inherited);
            let mut environment = line.environment;
            environment.extend(chorus_environment(
                &run,
                &options.url,
                token.reveal(),
                &options.program,
            ));
            environment.insert(MARK.to_owned(), mark.clone());
            let attachments = prompt::attachment_paths(&run, &options.data_dir);
            let wrapper = match run.isolation {
                Isolation::Unmasked => Vec::new(),
                Isolation::Masked => masks
                    .wrapper(&MaskedRun {
                        files: &files,
                        read: line.files.iter().map(|(path, _)| path.as_path()).collect(),
                        chorus: &options.program,
                        program: &line.program,
                        named: Path::new(run.task.agent_workspace.as_str()),
                        workspace: &workspace,
                        attachments: &attachments,
                    })
                    .map_err(|problem| match problem {
                        MaskProblem::NotChecked(error) if may_pass(&error) => {
                            LaunchError::Short(format!("bubblewrap cannot be started: {error}"))
                        }
                        problem => LaunchError::Failed(problem.to_string()),
                    })?,
            };
            let spec = RunSpec {
                wrapper,
                program: line.program,
                arguments: line.arguments,
                environment,
                working_directory: workspace,
                cgroup: cgroups.make(&mark),
                stop_signal: line.stop_signal,
                grace_seconds: options.grace_seconds,
                max_seconds: Some(limits.max_seconds),
                idle_seconds: Some(limits.idle_seconds),
            };
            let texts = RunTexts {
                prompt: &text,
                system: &system,
                others: &line.files,
            };
            run_dir::launch(&options.program, &files, &spec, &texts, inherited).map_err(|error| {
                cgroups.remove(&mark);
                LaunchError::of(
                    &error,
                    "The supervisor cannot be started",
                    "; check the data directory, then hand off again",
                )
            })
        };
        on_thread(launch)
            .await
            .unwrap_or_else(|error| Err(LaunchError::of(&error, "The run cannot be started", "")))
    }

    /// Chooses the mail for the agent's prompt, and records the delivery before the agent starts.
    async fn deliver_mail(
        &self,
        run: &ClaimedRun,
        briefing: &Briefing,
    ) -> Result<DeliveredMail, StoreError> {
        // A command that starts an external job is not an agent, and gets no mail.
        if run.starts_job() || run.agent.is_none() {
            return Ok(DeliveredMail::default());
        }
        let mail = DeliveredMail::choose(&run.identity, &briefing.mail, briefing.older_mail);
        if !mail.ids.is_empty() {
            let delivery = DeliverMail {
                handoff_id: run.identity.handoff_id.clone(),
                agent_name: run.identity.agent_name.clone(),
                ids: mail.ids.clone(),
            };
            let delivered = self.0.db.write(move |tx| mail::deliver(tx, &delivery));
            delivered.await?;
        }
        Ok(mail)
    }

    /// Records the delivery of the queued messages for the agent's prompt before the agent starts.
    async fn deliver_queue(&self, run: &ClaimedRun) -> Result<DeliveredQueue, StoreError> {
        // A command that starts an external job is not an agent, and gets no messages.
        if run.starts_job() || run.agent.is_none() {
            return Ok(DeliveredQueue::default());
        }
        let identity = run.identity.clone();
        let deliver =
            move |tx: &mut Tx<'_>| task::deliver_queue(tx, &identity, prompt::QUEUE_BUDGET);
        self.0.db.write(deliver).await
    }

    /// Follows a run until its supervisor has ended, and records the outcome. `supervisor` is a child of this server.
    pub(super) async fn follow_to_end(
        &self,
        run: ClaimedRun,
        supervisor: &SupervisorChild,
        guard: &Guard,
    ) -> Result<(), Stopping> {
        let files = self.files(&run.identity.run_id);
        let pid = supervisor.pid();
        let is_new = pid.is_some();
        // A copy of the ledger must not wait for the agent of the original, and must not take an unfinished output for its end.
        if !is_new
            && !self.0.installation.has_claimed(&run)
            && self.read_exit(&files).await?.is_none()
        {
            let problem = "The agent was started in another data directory. Look for its result there, or hand off again.";
            return self
                .finish_as(&run, Outcome::Interrupted, problem.to_owned(), true)
                .await;
        }
        if !is_new && !files.stdout().exists() {
            let held = self.patiently("try the lock of a run", || run_dir::is_held(&files));
            if !held.await?.unwrap_or(false) {
                let problem =
                    "The run directory is missing, so the result is unknown. Hand off again.";
                self.end_processes(&run, None).await?;
                return self
                    .finish_as(&run, Outcome::Interrupted, problem.to_owned(), true)
                    .await;
            }
        }
        let Some(agent) = launched_agent(&run) else {
            let problem =
                "The agent was deleted during its run; hand off to another agent".to_owned();
            return self
                .stop_and_fail(&run, &files, supervisor, guard, problem)
                .await;
        };
        let open = || Follower::open(&files, providers::reader(&agent), run.followed_bytes);
        let opened = self.patiently("open the output of a run", open).await?;
        let mut follower = match opened {
            Ok(follower) => follower,
            Err(error) => {
                let problem =
                    format!("The agent's output cannot be read: {error}. Hand off again.");
                return self
                    .stop_and_fail(&run, &files, supervisor, guard, problem)
                    .await;
            }
        };
        let limit = Duration::from_secs(self.0.options.error_seconds);
        let recorded_to = (!is_new).then_some(run.followed_error_bytes);
        let mut troubles = Troubles::new(agent.provider, &files, limit, recorded_to);
        self.follow_output(
            &run,
            &files,
            supervisor,
            &mut follower,
            &mut troubles,
            guard,
        )
        .await?;
        let exit = if guard.forced().is_some() {
            guard.until_forced().await;
            forced_exit(guard).or(self.read_exit(&files).await?)
        } else {
            self.read_exit(&files).await?
        };
        // The supervisor was killed before it could end its processes. That of an adopted run may have been killed before the agent
        // wrote an end of its own.
        if guard.forced().is_none() && (!is_new || exit.is_none()) {
            let ended = self.end_processes(&run, pid).await?;
            match ended.signals {
                0 => {}
                signals if exit.is_none() => {
                    tracing::warn!(run_id = %run.identity.run_id, signals, "ended the processes of a killed supervisor");
                }
                signals => {
                    tracing::info!(run_id = %run.identity.run_id, signals, "ended what was left of an adopted run");
                }
            }
        }
        if guard.forced().is_none()
            && let Some(reason) = never_started(&files, exit.as_ref())
            && self.start_again(&run, supervisor, reason).await?
        {
            return Ok(());
        }
        self.read_all(&run, &mut follower).await?;
        let said = follower.finish();
        self.record(&run, said, follower.read_to()).await?;
        let read = || tail(&files.stderr());
        let stderr = self.patiently("read the errors of a run", read).await?;
        let mut finish = conclude(
            &run,
            &agent,
            follower.report(),
            exit,
            &self.stated_limits(&run, &agent),
            &stderr.unwrap_or_default(),
        );
        // An agent that was stopped for another reason, or has finished after all, keeps its outcome.
        if troubles.is_over_limit() && finish.outcome == Outcome::Cancelled {
            finish.outcome = Outcome::TimedOut;
            finish.output = Text::lossy(format!(
                "The agent's program printed nothing but errors for {} s, its error limit. The last one:\n{}",
                self.0.options.error_seconds,
                with_advice(troubles.last_error())
            ));
        }
        if finish.outcome == Outcome::Failed
            && run.resumes.is_some()
            && !follower.has_spoken()
            && providers::is_lost_session(finish.output.as_str())
        {
            return self.requeue_fresh(&run).await;
        }
        self.finish(finish).await
    }

    /// Returns a run to the queue whose program does not know the session any more. It starts fresh, and is told everything.
    async fn requeue_fresh(&self, run: &ClaimedRun) -> Result<(), Stopping> {
        let reason = "The program does not know the session any more. The agent starts without it.";
        let requeued = self.write_patiently("return a run to the queue", || {
            let id = run.identity.run_id.clone();
            move |tx: &mut Tx<'_>| run::requeue_fresh(tx, &id, reason)
        });
        requeued.await.map(drop)
    }

    /// Returns a run to the queue whose files show that its agent never began. Returns false if that is not to be believed.
    async fn start_again(
        &self,
        run: &ClaimedRun,
        supervisor: &SupervisorChild,
        reason: String,
    ) -> Result<bool, Stopping> {
        match supervisor.denies_start().await {
            Some(true) => self.requeue(run, reason).await.map(|()| true),
            Some(false) => Ok(false),
            None => {
                self.end_processes(run, supervisor.pid()).await?;
                self.requeue_unproven(run, &reason).await
            }
        }
    }

    async fn read_exit(&self, files: &RunFiles) -> Result<Option<RunExit>, Stopping> {
        let exit = self.patiently("read the end of a run", || files.read_exit());
        Ok(exit.await?.unwrap_or_default())
    }

    /// Returns the limits that the run was started with, or is to be started with.
    pub(super) fn limits(&self, run: &ClaimedRun) -> Limits {
        let options = &self.0.options;
        let of_agent = || {
            let agent = run.agent.as_ref();
            Limits {
                max_seconds: agent.map_or(options.max_seconds, |agent| {
                    agent.run_limit(options.max_seconds).0
                }),
                idle_seconds: agent
                    .and_then(|agent| agent.idle_seconds)
                    .unwrap_or(options.idle_seconds),
            }
        };
        run.launch
            .as_ref()
            .map_or_else(of_agent, |launch| launch.limits)
    }

    fn stated_limits(&self, run: &ClaimedRun, agent: &Agent) -> StatedLimits {
        let limits = self.limits(run);
        StatedLimits {
            time: time_limit(agent, self.0.options.max_seconds, limits.max_seconds),
            idle_seconds: limits.idle_seconds,
        }
    }

    /// Records that the supervisor was started. Until then, the run's files show it.
    pub(super) async fn record_launch(self, run: ClaimedRun) {
        let run_id = run.identity.run_id.clone();
        let launch = Launch {
            limits: self.limits(&run),
        };
        let recorded = self.write_patiently("record the start of a run", move || {
            let run_id = run_id.clone();
            move |tx: &mut Tx<'_>| run::record_launch(tx, &run_id, &launch)
        });
        // If the server stops first, the run's files show its start.
        let _ = recorded.await;
        self.look_at_waits();
    }

    /// Stops a run that cannot be followed, and records that it failed.
    async fn stop_and_fail(
        &self,
        run: &ClaimedRun,
        files: &RunFiles,
        supervisor: &SupervisorChild,
        guard: &Guard,
        problem: String,
    ) -> Result<(), Stopping> {
        guard.stop();
        tokio::select! {
            released = self.until_released(files, supervisor) => released?,
            () = guard.until_forced() => {}
        }
        self.end_processes(run, None).await?;
        self.finish_as(run, Outcome::Failed, problem, true).await
    }

    /// Waits until the supervisor has ended. A shortage must not look like its end.
    async fn until_released(
        &self,
        files: &RunFiles,
        supervisor: &SupervisorChild,
    ) -> Result<(), Stopping> {
        let mut is_told = false;
        loop {
            match run_dir::until_released(files, supervisor).await {
                Ok(()) => return Ok(()),
                Err(error) if may_pass(&error) => {
                    if !std::mem::replace(&mut is_told, true) {
                        tracing::warn!(%error, "cannot wait for a supervisor; retrying");
                    }
                }
                Err(error) => {
                    tracing::error!(%error, run = %files.dir().display(), "cannot wait for the supervisor of a run");
                    return Ok(());
                }
            }
            self.rest(RETRY).await?;
        }
    }

    /// Reads the output until the supervisor has ended.
    async fn follow_output(
        &self,
        run: &ClaimedRun,
        files: &RunFiles,
        supervisor: &SupervisorChild,
        follower: &mut Follower,
        troubles: &mut Troubles,
        guard: &Guard,
    ) -> Result<(), Stopping> {
        let mut watch = self.0.watcher.watch(&files.stdout());
        let mut errors = self.0.watcher.watch(&files.stderr());
        let released = self.until_released(files, supervisor);
        tokio::pin!(released);
        let after_result = Duration::from_secs(self.0.options.grace_seconds);
        let mut leave_by: Option<Instant> = None;
        loop {
            let asked = guard.reading.asked();
            self.read_all(run, follower).await?;
            guard.reading.finish(asked);
            self.note_troubles(run, files, follower, troubles).await?;
            let has_result = follower.report().end.is_some();
            if troubles.is_over_limit() && !has_result {
                guard.stop();
            }
            if has_result && leave_by.is_none() {
                leave_by = Some(Instant::now() + after_result);
            }
            let grown = async {
                match &mut watch {
                    Ok(watch) => watch.grown().await,
                    Err(_) => tokio::time::sleep(RETRY).await,
                }
            };
            let complained = async {
                match &mut errors {
                    _ if !troubles.reads_errors() => std::future::pending().await,
                    Ok(errors) => errors.grown().await,
                    Err(_) => tokio::time::sleep(RETRY).await,
                }
            };
            let gave_up = async {
                match troubles.ends_at() {
                    Some(time) if !troubles.is_over_limit() => tokio::time::sleep_until(time).await,
                    _ => std::future::pending().await,
                }
            };
            let overstayed = async {
                match leave_by {
                    Some(time) => tokio::time::sleep_until(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                released = &mut released => return released,
                () = guard.until_forced() => return Ok(()),
                () = grown => {}
                () = guard.reading.until_asked(asked) => {}
                () = complained => {}
                () = gave_up => {}
                () = overstayed => {
                    self.order(&run.identity.run_id, Order::Finish);
                    // The order is repeated if the agent does not end.
                    leave_by = Some(Instant::now() + after_result);
                }
            }
            // Without inotify, for instance in a shortage, the output is read now and then.
            if watch.is_err() {
                watch = self.0.watcher.watch(&files.stdout());
            }
            if errors.is_err() {
                errors = self.0.watcher.watch(&files.stderr());
            }
        }
    }

    /// Reads and records the available output piece by piece.
    async fn read_all(&self, run: &ClaimedRun, follower: &mut Follower) -> Result<(), Stopping> {
        loop {
            let piece = self.patiently("read the output of a run", || follower.read_piece());
            match piece.await? {
                Ok(Some(said)) => self.record(run, said, follower.read_to()).await?,
                Ok(None) => return Ok(()),
                Err(error) => {
                    tracing::error!(%error, run_id = %run.identity.run_id, "cannot read the output of a run");
                    return Ok(());
                }
            }
        }
    }

    /// Records messages, with retries without limit. Messages that are not recorded before the server stops are read again by the
    /// next server.
    async fn record(
        &self,
        run: &ClaimedRun,
        said: Vec<crate::domain::NewMessage>,
        read_to: u64,
    ) -> Result<(), Stopping> {
        if said.is_empty() {
            return Ok(());
        }
        let said = Arc::new(said);
        let make = || {
            let (run_id, said) = (run.identity.run_id.clone(), said.clone());
            move |tx: &mut Tx<'_>| run::record_messages(tx, &run_id, &said, read_to)
        };
        let recorded = self.write_patiently("record the messages of a run", make);
        recorded.await.map(|_| ())
    }

    /// Records a run as failed whose agent was never started.
    pub(super) async fn fail(&self, run: &ClaimedRun, problem: String) -> Result<(), Stopping> {
        self.finish_as(run, Outcome::Failed, problem, false).await
    }

    async fn finish_as(
        &self,
        run: &ClaimedRun,
        outcome: Outcome,
        problem: String,
        has_begun: bool,
    ) -> Result<(), Stopping> {
        self.finish(FinishRun {
            run_id: run.identity.run_id.clone(),
            outcome,
            output: Text::lossy(problem),
            session_id: None,
            usage: None,
            cost_usd: None,
            denied_tools: Vec::new(),
            has_begun,
        })
        .await
    }

    /// Records the outcome of a run, with retries without limit: the process has ended, so the outcome would be lost.
    async fn finish(&self, finish: FinishRun) -> Result<(), Stopping> {
        let outcome = finish.outcome.as_str();
        let make = || {
            let finish = finish.clone();
            move |tx: &mut Tx<'_>| run::finish(tx, &finish)
        };
        let has_ended = self.write_patiently("record the outcome of a run", make);
        if has_ended.await? == Some(true) {
            metrics::counter!("chorus_handoffs_ended_total", "outcome" => outcome).increment(1);
        }
        Ok(())
    }
}

/// Returns the reason if the files of a run show that the supervisor ended before it started the agent, which a later attempt can do.
fn never_started(files: &RunFiles, exit: Option<&RunExit>) -> Option<String> {
    match exit {
        Some(RunExit {
            end:
                End::NotStarted {
                    error,
                    may_pass: true,
                },
            ..
        }) => Some(error.clone()),
        // In a directory that the agent has removed, nothing shows its start.
        None if files.lock().exists() && !run_dir::was_agent_started(files) => {
            let log = tail(&files.dir().join("supervisor.log")).unwrap_or_default();
            let reason = format!(
                "A supervisor ended before it started its agent. {}",
                log.trim()
            );
            Some(reason.trim_end().to_owned())
        }
        _ => None,
    }
}

/// Returns the environment variables that Chorus sets for an agent.
fn chorus_environment(
    run: &ClaimedRun,
    url: &str,
    token: &str,
    program: &Path,
) -> BTreeMap<String, String> {
    let mut path = program
        .parent()
        .map(|folder| folder.display().to_string())
        .unwrap_or_default();
    if let Ok(inherited) = std::env::var("PATH") {
        path.push(':');
        path.push_str(&inherited);
    }
    let identity = &run.identity;
    let traceparent = TraceParent {
        trace_id: run.trace_id.clone(),
        parent_id: (&identity.handoff_id).into(),
        is_sampled: true,
    };
    BTreeMap::from(
        [
            ("CHORUS_URL", url),
            ("CHORUS_TASK_ID", identity.task_id.as_str()),
            ("CHORUS_HANDOFF_ID", identity.handoff_id.as_str()),
            ("CHORUS_AGENT", identity.agent_name.as_str()),
            ("CHORUS_TOKEN", token),
            ("TRACEPARENT", &traceparent.to_string()),
            ("PATH", &path),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    )
}

/// The end of a run that was ended by force.
fn forced_exit(guard: &Guard) -> Option<RunExit> {
    let cause = guard.forced()?.cause?;
    Some(RunExit {
        end: End::Signalled {
            signal: Signal::KILL.as_raw(),
        },
        cause,
    })
}

/// The limits that a run was started with, for its output.
struct StatedLimits {
    /// A sentence that states the time limit and how to raise it.
    time: String,
    idle_seconds: u64,
}

/// States the time limit of a run and how to raise it. The agent may have been changed since the run started.
fn time_limit(agent: &Agent, server: u64, had: u64) -> String {
    let (seconds, limit) = agent.run_limit(server);
    let edit = format!("`chorus agent edit {}", agent.name);
    let advice = match limit {
        _ if had != seconds => "The limit has been changed since: hand off again".to_owned(),
        RunLimit::MaxSeconds => format!("Raise it with {edit} --max-seconds SECONDS`"),
        RunLimit::MaxSessionDuration => {
            format!("Raise it with {edit} --max-session-duration MINUTES`")
        }
        RunLimit::Server => format!(
            "Set another with {edit} --max-seconds SECONDS`, start the server with a higher --max-seconds"
        ),
    };
    format!("of {had} s. {advice}, or ask for less.")
}

/// Determines the outcome of a run from its output and the end of its process.
fn conclude(
    run: &ClaimedRun,
    agent: &Agent,
    report: &Report,
    exit: Option<RunExit>,
    limits: &StatedLimits,
    stderr: &str,
) -> FinishRun {
    let said_so_far = match &report.end {
        Some(Ok(message)) if !message.trim().is_empty() => {
            format!("\nThe agent's last message:\n{message}")
        }
        _ => String::new(),
    };
    let has_begun = !exit
        .as_ref()
        .is_some_and(|exit| matches!(exit.end, End::NotStarted { .. }));
    let (outcome, output) = match exit {
        Some(RunExit {
            end: End::NotStarted { error, .. },
            ..
        }) => (Outcome::Failed, error),
        Some(RunExit {
            cause: Cause::Stopped,
            ..
        }) => (Outcome::Cancelled, "Stopped".to_owned()),
        Some(RunExit {
            cause: Cause::TimedOut,
            ..
        }) if agent.provider == Provider::Command || report.end.is_none() => (
            Outcome::TimedOut,
            format!(
                "The run reached its time limit {}{said_so_far}",
                limits.time
            ),
        ),
        Some(RunExit {
            cause: Cause::Idle, ..
        }) if agent.provider == Provider::Command || report.end.is_none() => (
            Outcome::TimedOut,
            format!(
                "The agent printed nothing for {} s, its idle limit. Read the log, or raise the agent's idleSeconds.{said_so_far}",
                limits.idle_seconds
            ),
        ),
        Some(RunExit { end, cause }) => {
            let end = match (cause, end) {
                (Cause::Finished | Cause::TimedOut | Cause::Idle, _) => ProcessEnd::StoppedAfterEnd,
                (_, End::Exited { code }) => ProcessEnd::Exited(code),
                (_, End::Signalled { signal }) => ProcessEnd::Signalled(signal),
                (_, End::NotStarted { .. }) => ProcessEnd::Exited(-1),
            };
            let verdict = judge(report, end, stderr);
            (verdict.outcome, verdict.output)
        }
        // The supervisor died without `exit.json`. The end that a provider reported still counts, but the output of a plain command is
        // complete only if its process ended.
        None => match &report.end {
            Some(_) if agent.provider != Provider::Command => {
                let verdict = judge(report, ProcessEnd::StoppedAfterEnd, stderr);
                (verdict.outcome, verdict.output)
            }
            _ => (
                Outcome::Interrupted,
                format!(
                    "The machine or the supervisor went down while the agent worked. Hand off again.{said_so_far}"
                ),
            ),
        },
    };
    FinishRun {
        run_id: run.identity.run_id.clone(),
        outcome,
        output: Text::lossy(output),
        session_id: report.session_id.clone(),
        usage: Some(serde_json::json!({
            "inputTokens": report.usage.input_tokens,
            "outputTokens": report.usage.output_tokens,
            "turns": report.usage.turns,
        })),
        cost_usd: report.cost_usd,
        denied_tools: report.denied_tools.clone(),
        has_begun,
    }
}

/// Reads the end of a file.
fn tail(path: &Path) -> std::io::Result<String> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = run_dir::open_plain(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(STDERR_READ)))?;
    let mut bytes = Vec::new();
    file.take(STDERR_READ).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AgentChange;

    fn agent(json: serde_json::Value) -> Agent {
        let change: AgentChange = serde_json::from_value(json).unwrap();
        change.into_new("mine".parse().unwrap())
    }

    #[test]
    fn a_timed_out_run_names_the_limit_that_it_was_started_with() {
        for (json, had, says) in [
            (
                serde_json::json!({ "maxSeconds": 60, "maxSessionDuration": 30 }),
                60,
                "of 60 s. Raise it with `chorus agent edit mine --max-seconds SECONDS`, or ask for less.",
            ),
            (
                serde_json::json!({ "maxSeconds": 7200, "maxSessionDuration": 30 }),
                1800,
                "of 1800 s. Raise it with `chorus agent edit mine --max-session-duration MINUTES`, or ask for less.",
            ),
            (
                serde_json::json!({ "maxSessionDuration": 90 }),
                3600,
                "of 3600 s. Set another with `chorus agent edit mine --max-seconds SECONDS`, start the server with a higher --max-seconds, or ask for less.",
            ),
            (
                serde_json::json!({ "maxSessionDuration": 30 }),
                600,
                "of 600 s. The limit has been changed since: hand off again, or ask for less.",
            ),
        ] {
            assert_eq!(time_limit(&agent(json), 3600, had), says);
        }
    }
}
