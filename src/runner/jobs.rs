//! Asks whether a job elsewhere is finished.
//!
//! The command of an asynchronous route is asked with the id of the job. It ends with 0 when the job is finished, and has then
//! printed the response; with 75 (`EX_TEMPFAIL`: try again later) while it is not; with anything else when it has failed.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, Command};

use crate::store::Job;

/// How long the question may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many bytes of a response are taken.
const LARGEST: u64 = 4 * 1024 * 1024;

/// How many bytes of a complaint are taken.
const COMPLAINT: u64 = 16 * 1024;

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
        .env("CHORUS_REQUEST_ID", job.request_id.as_str())
        .env_remove("CHORUS_TOKEN")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if workspace.is_dir() {
        command.current_dir(workspace);
    }
    match tokio::time::timeout(PATIENCE, answer(command)).await {
        Ok(Ok(state)) => state,
        Ok(Err(error)) => JobState::Unknown(format!("{program} cannot be run: {error}")),
        Err(_) => JobState::Unknown(format!(
            "{program} did not answer within {} s",
            PATIENCE.as_secs()
        )),
    }
}

async fn answer(mut command: Command) -> std::io::Result<JobState> {
    let mut child = command.spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let complaint = tokio::spawn(complaint(stderr));
    let mut printed = Vec::new();
    if let Some(stdout) = stdout {
        stdout.take(LARGEST + 1).read_to_end(&mut printed).await?;
    }
    if printed.len() as u64 > LARGEST {
        return Ok(JobState::Failed(format!(
            "The response is larger than {LARGEST} bytes"
        )));
    }
    let status = child.wait().await?;
    let complaint = complaint.await.unwrap_or_default();
    Ok(match status.code() {
        Some(0) => {
            let response = String::from_utf8_lossy(&printed);
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
    })
}

async fn complaint(stderr: Option<ChildStderr>) -> String {
    let mut said = Vec::new();
    if let Some(mut stderr) = stderr {
        // What cannot be read is not told; the rest is read away so that the command does not hang.
        let _ = (&mut stderr).take(COMPLAINT).read_to_end(&mut said).await;
        let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    }
    String::from_utf8_lossy(&said).into_owned()
}
