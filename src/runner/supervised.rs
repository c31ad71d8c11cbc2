//! Follows one run from its launch to its recorded outcome.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use super::follow::Follower;
use super::installation::MARK;
use super::isolation::{MaskProblem, MaskedRun};
use super::jobs::launched_agent;
use super::mail::DeliveredMail;
use super::providers::{self, ProcessEnd, Report, judge};
use super::shortage::{RETRY, Stopping, on_thread};
use super::spec::SpecError;
use super::{Runner, prompt, run_dir, spec};
use crate::domain::{
    Agent, Isolation, Outcome, Provider, ProviderSession, RunLimit, Text, TraceParent,
};
use crate::error::{describe, with_sources};
use crate::ledger::mail::{self, DeliverMail};
use crate::ledger::run::{self, Briefing, ClaimedRun, FinishRun};
use crate::secret::Token;
use crate::store::{StoreError, Tx};
use crate::supervisor::{Cause, End, Order, RunExit, RunFiles, RunSpec, may_pass};

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
        let identity = run.identity.clone();
        let briefing = self
            .0
            .db
            .read(move |view| run::briefing(view, &identity))
            .await?;
        let mail = self.deliver_mail(run, &briefing).await?;
        let options = self.0.options.clone();
        let mark = self.0.installation.mark(&run.identity.run_id);
        let masks = self.0.masks.clone();
        let (run, token) = (run.clone(), token.clone());
        let launch = move || -> Result<Child, LaunchError> {
            let agent = launched_agent(&run).ok_or_else(|| {
                LaunchError::Failed(format!(
                    "Agent {} was deleted before its run started; hand off to another agent",
                    run.identity.agent_name
                ))
            })?;
            let agent = &agent;
            let files = RunFiles::new(&options.data_dir.run(&run.identity.run_id));
            let resumes = run.resumes.clone().map(ProviderSession::parse).transpose();
            let resumes = resumes.map_err(|error| {
                LaunchError::Failed(format!("The session to resume is unusable: its id {error}. Hand off again without `resume`."))
            })?;
            let line = providers::command_line(agent, &files.system(), resumes.as_ref());
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
            // A command that starts an external job is not an agent, and gets only the request.
            let text = if run.starts_job() {
                run.prompt.to_string()
            } else {
                prompt::compose(&run, &briefing, &mail)
            };
            let mut text = providers::plain_text(agent.provider, &text).into_owned();
            if !line.takes_system_file && !system.is_empty() {
                text.insert_str(0, &format!("{system}\n\n"));
            }
            let workspace = run.task.agent_workspace.as_str();
            let workspace = options.workspaces.enter(Path::new(workspace)).map_err(|problem| {
                let sentence = format!("Workspace {workspace} {problem}");
                if problem.may_pass() {
                    LaunchError::Short(sentence)
                } else {
                    LaunchError::Failed(format!("{sentence}. Put a directory there that agents may use, or create a task with another agentWorkspace."))
                }
            })?;
            let mut environment = line.environment;
            environment.extend(chorus_environment(
                &run,
                &options.url,
                token.reveal(),
                &options.program,
            ));
            environment.insert(MARK.to_owned(), mark);
            let wrapper = match run.isolation {
                Isolation::Unmasked => Vec::new(),
                Isolation::Masked => masks
                    .wrapper(&MaskedRun {
                        files: &files,
                        chorus: &options.program,
                        program: &line.program,
                        named: Path::new(run.task.agent_workspace.as_str()),
                        workspace: &workspace,
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
                stop_signal: line.stop_signal,
                grace_seconds: options.grace_seconds,
                max_seconds: Some(agent.run_limit(options.max_seconds).0),
                idle_seconds: Some(agent.idle_seconds.unwrap_or(options.idle_seconds)),
            };
            run_dir::launch(&options.program, &files, &spec, &text, &system).map_err(|error| {
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

    /// Follows a run until its supervisor has ended, and records the outcome. `supervisor` is a child of this server.
    pub(super) async fn follow_to_end(
        &self,
        run: ClaimedRun,
        supervisor: Option<Child>,
    ) -> Result<(), Stopping> {
        let files = self.files(&run.identity.run_id);
        // A copy of the ledger must not wait for the agent of the original, and must not take an unfinished output for its end.
        if supervisor.is_none()
            && !self.0.installation.has_claimed(&run)
            && self.read_exit(&files).await?.is_none()
        {
            let problem = "The agent was started in another data directory. Look for its result there, or hand off again.";
            return self
                .finish_as(&run, Outcome::Interrupted, problem.to_owned())
                .await;
        }
        if supervisor.is_none() && !files.stdout().exists() {
            let held = self.patiently("try the lock of a run", || run_dir::is_held(&files));
            if !held.await?.unwrap_or(false) {
                let problem =
                    "The run directory is missing, so the result is unknown. Hand off again.";
                return self
                    .finish_as(&run, Outcome::Interrupted, problem.to_owned())
                    .await;
            }
        }
        let supervisor = Arc::new(Mutex::new(supervisor));
        let Some(agent) = launched_agent(&run) else {
            let problem =
                "The agent was deleted during its run; hand off to another agent".to_owned();
            return self.stop_and_fail(&run, &files, &supervisor, problem).await;
        };
        let open = || Follower::open(&files, providers::reader(&agent), run.followed_bytes);
        let opened = self.patiently("open the output of a run", open).await?;
        let mut follower = match opened {
            Ok(follower) => follower,
            Err(error) => {
                let problem =
                    format!("The agent's output cannot be read: {error}. Hand off again.");
                return self.stop_and_fail(&run, &files, &supervisor, problem).await;
            }
        };
        self.follow_output(&run, &files, &supervisor, &mut follower)
            .await?;
        let exit = self.read_exit(&files).await?;
        if exit.is_none() {
            // The supervisor was killed before it could end its processes.
            self.end_processes(&run).await?;
        }
        if let Some(reason) = never_started(&files, exit.as_ref()) {
            return self.requeue(&run, reason).await;
        }
        self.read_all(&run, &mut follower).await?;
        let said = follower.finish();
        self.record(&run, said, follower.read_to()).await?;
        let read = || tail(&files.stderr());
        let stderr = self.patiently("read the errors of a run", read).await?;
        let finish = conclude(
            &run,
            &agent,
            follower.report(),
            exit,
            &self.limits(&agent, &files),
            &stderr.unwrap_or_default(),
        );
        self.finish(finish).await
    }

    async fn read_exit(&self, files: &RunFiles) -> Result<Option<RunExit>, Stopping> {
        let exit = self.patiently("read the end of a run", || files.read_exit());
        Ok(exit.await?.unwrap_or_default())
    }

    /// Returns the limits that the run was started with.
    fn limits(&self, agent: &Agent, files: &RunFiles) -> Limits {
        let options = &self.0.options;
        let spec = files.spec().ok();
        let had = |limit: fn(&RunSpec) -> Option<u64>| spec.as_ref().and_then(limit);
        Limits {
            time: time_limit(agent, options.max_seconds, had(|spec| spec.max_seconds)),
            idle_seconds: had(|spec| spec.idle_seconds)
                .or(agent.idle_seconds)
                .unwrap_or(options.idle_seconds),
        }
    }

    /// Stops a run that cannot be followed, and records that it failed.
    async fn stop_and_fail(
        &self,
        run: &ClaimedRun,
        files: &RunFiles,
        supervisor: &Arc<Mutex<Option<Child>>>,
        problem: String,
    ) -> Result<(), Stopping> {
        self.order(&run.identity.run_id, Order::Stop);
        self.until_released(files, supervisor).await?;
        self.fail(run, problem).await
    }

    /// Waits until the supervisor has ended. A shortage must not look like its end.
    async fn until_released(
        &self,
        files: &RunFiles,
        supervisor: &Arc<Mutex<Option<Child>>>,
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
        supervisor: &Arc<Mutex<Option<Child>>>,
        follower: &mut Follower,
    ) -> Result<(), Stopping> {
        let mut watch = self.0.watcher.watch(&files.stdout());
        let released = self.until_released(files, supervisor);
        tokio::pin!(released);
        let after_result = Duration::from_secs(self.0.options.grace_seconds);
        let mut leave_by: Option<Instant> = None;
        loop {
            self.read_all(run, follower).await?;
            let has_result = follower.report().end.is_some();
            if has_result && leave_by.is_none() {
                leave_by = Some(Instant::now() + after_result);
            }
            let grown = async {
                match &mut watch {
                    Ok(watch) => watch.grown().await,
                    Err(_) => tokio::time::sleep(RETRY).await,
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
                () = grown => {}
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

    /// Records a run as failed for a reason other than its process.
    pub(super) async fn fail(&self, run: &ClaimedRun, problem: String) -> Result<(), Stopping> {
        self.finish_as(run, Outcome::Failed, problem).await
    }

    async fn finish_as(
        &self,
        run: &ClaimedRun,
        outcome: Outcome,
        problem: String,
    ) -> Result<(), Stopping> {
        self.finish(FinishRun {
            run_id: run.identity.run_id.clone(),
            outcome,
            output: Text::lossy(problem),
            session_id: None,
            usage: None,
            cost_usd: None,
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

/// Returns the reason if the supervisor ended before it started the agent, which a later attempt can do.
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
        None if !run_dir::was_agent_started(files) => {
            let log = std::fs::read_to_string(files.dir().join("supervisor.log"));
            let log = log.unwrap_or_default();
            Some(
                format!(
                    "A supervisor ended before it started its agent. {}",
                    log.trim()
                )
                .trim_end()
                .to_owned(),
            )
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

/// The limits that a run was started with.
struct Limits {
    /// A sentence that states the time limit and how to raise it.
    time: String,
    idle_seconds: u64,
}

/// States the time limit of a run and how to raise it. The agent may have been changed since the run started.
fn time_limit(agent: &Agent, server: u64, had: Option<u64>) -> String {
    let (seconds, limit) = agent.run_limit(server);
    let advice = match limit {
        _ if had.is_some_and(|had| had != seconds) => {
            "The limit has been changed since: hand off again"
        }
        RunLimit::MaxSeconds => "Raise the agent's maxSeconds",
        RunLimit::MaxSessionDuration => "Raise the agent's maxSessionDuration",
        RunLimit::Server => {
            "Set the agent's maxSeconds, start the server with a higher --max-seconds"
        }
    };
    format!(
        "of {} s. {advice}, or ask for less.",
        had.unwrap_or(seconds)
    )
}

/// Determines the outcome of a run from its output and the end of its process.
fn conclude(
    run: &ClaimedRun,
    agent: &Agent,
    report: &Report,
    exit: Option<RunExit>,
    limits: &Limits,
    stderr: &str,
) -> FinishRun {
    let said_so_far = match &report.end {
        Some(Ok(message)) if !message.trim().is_empty() => {
            format!("\nThe agent's last message:\n{message}")
        }
        _ => String::new(),
    };
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
                Some(60),
                "of 60 s. Raise the agent's maxSeconds, or ask for less.",
            ),
            (
                serde_json::json!({ "maxSeconds": 7200, "maxSessionDuration": 30 }),
                Some(1800),
                "of 1800 s. Raise the agent's maxSessionDuration, or ask for less.",
            ),
            (
                serde_json::json!({ "maxSessionDuration": 90 }),
                None,
                "of 3600 s. Set the agent's maxSeconds, start the server with a higher --max-seconds, or ask for less.",
            ),
            (
                serde_json::json!({ "maxSessionDuration": 30 }),
                Some(600),
                "of 600 s. The limit has been changed since: hand off again, or ask for less.",
            ),
        ] {
            assert_eq!(time_limit(&agent(json), 3600, had), says);
        }
    }
}
