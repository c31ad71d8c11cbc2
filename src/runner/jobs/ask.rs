//! Asks whether a job elsewhere is finished.
//!
//! The command of an asynchronous route is asked with the id of the job. It ends with 0 when the job is finished, and has then
//! printed the response; with 75 (`EX_TEMPFAIL`: try again later) while it is not; with anything else when it has failed.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::task::JoinHandle;

use super::start::JOB_REQUEST;
use crate::domain::Job;

/// How long the question may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many bytes of a response are taken.
const LARGEST: usize = 4 * 1024 * 1024;

/// How many bytes of a complaint are taken.
const COMPLAINT: usize = 16 * 1024;

/// How long a pipe is read on when the command has ended and somebody else holds it.
const MOMENT: Duration = Duration::from_millis(500);

/// The code that says: not yet.
const NOT_YET: i32 = 75;

/// What the command says of its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    /// It goes on.
    Running,
    /// It is finished, and this is the response.
    Finished(String),
    /// It has failed, and this is why.
    Failed(String),
    /// The command could not be asked; the job may still go on.
    Unknown(String),
}

/// Asks the command of a job's route whether the job is finished.
pub async fn ask(job: &Job) -> JobState {
    let Some([program, arguments @ ..]) = job.poll_command.as_deref() else {
        return JobState::Failed(format!(
            "The kind {} has no asynchronous route any more; nobody can be asked after job {}",
            job.kind, job.job_id
        ));
    };
    let workspace = Path::new(job.workspace.as_str());
    let mut command = Command::new(program.as_str());
    command
        .args(
            arguments
                .iter()
                .map(|word| word.as_str().replace("{job}", job.job_id.as_str())),
        )
        .env("CHORUS_JOB_ID", job.job_id.as_str())
        .env(JOB_REQUEST, job.request_id.as_str())
        .env_remove("CHORUS_TOKEN")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if workspace.is_dir() {
        command.current_dir(workspace);
    }
    match answer(command).await {
        Ok(Some(state)) => state,
        Ok(None) => JobState::Unknown(format!(
            "{program} did not answer within {} s",
            PATIENCE.as_secs()
        )),
        Err(error) => JobState::Unknown(format!("{program} cannot be run: {error}")),
    }
}

/// Runs the command. Nothing if it takes too long.
async fn answer(mut command: Command) -> std::io::Result<Option<JobState>> {
    let mut child = command.spawn()?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let printed = Collected::of(child.stdout.take(), LARGEST);
    let complaint = Collected::of(child.stderr.take(), COMPLAINT);
    let status = tokio::time::timeout(PATIENCE, child.wait()).await;
    if status.is_err() {
        child.start_kill()?;
    }
    // What it printed is there when it has ended; a child that it left behind may hold the pipes open for ever.
    let (printed, complaint) = (printed.finish().await, complaint.finish().await);
    if let Some(group) = group {
        // An error means that nobody of it is left.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let Ok(status) = status else { return Ok(None) };
    let status = status?;
    let complaint = String::from_utf8_lossy(&complaint.bytes).into_owned();
    Ok(Some(match status.code() {
        Some(0) if printed.is_cut => {
            JobState::Failed(format!("The response is larger than {LARGEST} bytes"))
        }
        Some(0) => {
            let response = String::from_utf8_lossy(&printed.bytes);
            JobState::Finished(response.trim_end().to_owned())
        }
        Some(NOT_YET) => JobState::Running,
        _ => JobState::Failed(format!(
            "The job has failed ({status}){}{}",
            if complaint.trim().is_empty() {
                ""
            } else {
                ": "
            },
            complaint.trim()
        )),
    }))
}

/// What a pipe brings, up to a limit.
#[derive(Default)]
struct Printed {
    bytes: Vec<u8>,
    is_cut: bool,
}

/// A pipe that is read in the background.
struct Collected {
    printed: Arc<Mutex<Printed>>,
    reading: JoinHandle<()>,
}

impl Collected {
    /// Begins to read a pipe. What is above the limit is read away, so that the command does not hang.
    fn of(pipe: Option<impl AsyncRead + Unpin + Send + 'static>, limit: usize) -> Self {
        let printed = Arc::new(Mutex::new(Printed::default()));
        let kept = printed.clone();
        let reading = tokio::spawn(async move {
            let Some(mut pipe) = pipe else { return };
            let mut piece = vec![0; 16 * 1024];
            while let Ok(count @ 1..) = pipe.read(&mut piece).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let room = limit - kept.bytes.len();
                kept.bytes.extend_from_slice(&piece[..count.min(room)]);
                kept.is_cut |= count > room;
            }
        });
        Self { printed, reading }
    }

    /// Returns what came, once the pipe is closed, or a moment after its command has ended.
    async fn finish(mut self) -> Printed {
        // Either way all that the command itself printed has been read.
        let _ = tokio::time::timeout(MOMENT, &mut self.reading).await;
        self.reading.abort();
        std::mem::take(&mut self.printed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
