//! The launch of a command that starts a job.

use crate::domain::{Agent, JobStart, OutputForm, Provider, Text};
use crate::ledger::run::ClaimedRun;

/// The variable that tells the commands of a job the id of their request.
pub(super) const JOB_REQUEST: &str = "CHORUS_REQUEST_ID";

/// Returns the agent of a run as it is launched, unless it was deleted.
pub(in crate::runner) fn launched_agent(run: &ClaimedRun) -> Option<Agent> {
    let agent = run.agent.clone()?;
    Some(match &run.job {
        Some(job) => starter(agent, job),
        None => agent,
    })
}

/// Puts the start command of a job in the place of an agent's program. Its last line is the name of the job.
fn starter(agent: Agent, job: &JobStart) -> Agent {
    let mut words = job.command.iter().cloned();
    let mut environment = agent.environment;
    environment.insert(
        Text::lossy(JOB_REQUEST.to_owned()),
        Text::lossy(job.request_id.to_string()),
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
