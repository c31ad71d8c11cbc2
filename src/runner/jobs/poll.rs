//! Polls an external job.
//!
//! The poll command of the kind rule is run with the job's id. Exit code 0 means that the job is finished and standard output is the
//! response. Exit code 75 (`EX_TEMPFAIL`: try again later) means that the job is still running. Any other code means that it failed.

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

/// The time limit of the poll command.
const PATIENCE: Duration = Duration::from_mins(1);

/// The maximum size of a response in bytes.
const LARGEST: usize = 4 * 1024 * 1024;

/// The maximum number of bytes of standard error in a message.
const COMPLAINT: usize = 16 * 1024;

/// How long a pipe is read after the command has ended while another process holds it open.
const MOMENT: Duration = Duration::from_millis(500);

const NOT_YET: i32 = 75;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    Running,
    /// The response.
    Finished(String),
    /// The reason.
    Failed(String),
    /// The reason why the command gave no answer; the job may still be running.
    Unknown(String),
}

/// Runs the poll command of a job.
pub async fn poll(job: &Job) -> JobState {
    let Some([program, arguments @ ..]) = job.poll_command.as_deref() else {
        return JobState::Failed(format!(
            "Kind {} no longer has a poll command, so job {} cannot be polled; set the command with `chorus request kinds`",
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
    match run_command(command).await {
        Ok(Some(state)) => state,
        Ok(None) => JobState::Unknown(format!(
            "{program} did not end within {} s",
            PATIENCE.as_secs()
        )),
        Err(error) => JobState::Unknown(format!("{program} cannot be started: {error}")),
    }
}

/// Runs the command. `None` means that it reached the time limit.
async fn run_command(mut command: Command) -> std::io::Result<Option<JobState>> {
    let mut child = command.spawn()?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let printed = Collected::of(child.stdout.take(), LARGEST);
    let complaint = Collected::of(child.stderr.take(), COMPLAINT);
    let status = tokio::time::timeout(PATIENCE, child.wait()).await;
    if status.is_err() {
        child.start_kill()?;
    }
    // The command's own output is complete when it has ended, but a child that it left behind may hold the pipes open forever.
    let (printed, complaint) = (printed.finish().await, complaint.finish().await);
    if let Some(group) = group {
        // An error means that the process group is empty.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let Ok(status) = status else { return Ok(None) };
    let status = status?;
    let complaint = String::from_utf8_lossy(&complaint.bytes).into_owned();
    Ok(Some(match status.code() {
        Some(0) if printed.is_cut => JobState::Failed(format!(
            "The response is larger than {LARGEST} bytes; shorten it"
        )),
        Some(0) => {
            let response = String::from_utf8_lossy(&printed.bytes);
            let response = response.strip_suffix('\n').unwrap_or(&response);
            JobState::Finished(response.to_owned())
        }
        Some(NOT_YET) => JobState::Running,
        _ => JobState::Failed(format!(
            "The job failed ({status}){}{}",
            if complaint.trim().is_empty() {
                ""
            } else {
                ": "
            },
            complaint.trim()
        )),
    }))
}

/// The output of a pipe, up to a limit.
#[derive(Default)]
struct Printed {
    bytes: Vec<u8>,
    is_cut: bool,
}

struct Collected {
    printed: Arc<Mutex<Printed>>,
    reading: JoinHandle<()>,
}

impl Collected {
    /// Begins to read a pipe. Bytes above the limit are read and dropped, so that the command does not block.
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

    /// Returns the output once the pipe is closed, at most [`MOMENT`] after the command has ended.
    async fn finish(mut self) -> Printed {
        // In both cases the command's own output has been read.
        let _ = tokio::time::timeout(MOMENT, &mut self.reading).await;
        self.reading.abort();
        std::mem::take(&mut self.printed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
