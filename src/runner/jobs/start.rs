//! Launches the command that starts an external job.

use crate::domain::{Agent, JobStart, OutputForm, Provider, Text};
use crate::ledger::run::ClaimedRun;

/// The environment variable with the id of the request, for the commands of a job.
pub(super) const JOB_REQUEST: &str = "CHORUS_REQUEST_ID";

/// Returns the agent to launch, or `None` if it was deleted.
pub(in crate::runner) fn launched_agent(run: &ClaimedRun) -> Option<Agent> {
    let agent = run.agent.clone()?;
    Some(match &run.job {
        Some(job) => starter(agent, job),
        None => agent,
    })
}

/// Replaces the agent's program by the start command of a job, whose last line of output is the job's id.
fn starter(agent: Agent, job: &JobStart) -> Agent {
    let mut words = job.command.iter().cloned();
    let mut environment = agent.environment;
    environment.0.insert(
        Text::lossy(JOB_REQUEST.to_owned()),
        Some(Text::lossy(job.request_id.to_string())),
    );
    Agent {
        provider: Provider::Command,
        spec_path: Text::default(),
        program: words.next(),
        arguments: words.collect(),
        environment,
        output_form: OutputForm::LastLine,
        ..agent
    }
}
