//! The needs of a task: arguments that `chorus task create` and `chorus task edit` share.

use std::str::FromStr;

use clap::Args;

use super::TaskArgument;
use crate::domain::{DependencyOutcome, IllegalSkill, Minutes, Role, Skill, TaskId, TaskPriority};

#[derive(Debug, Args)]
pub(in crate::cli) struct NeedsArguments {
    /// Role that works on the task, such as `testing`; '' for none
    ///
    /// The router gives the task to an agent that has this role.
    #[arg(long, value_name = "ROLE")]
    pub agent_role: Option<OrNothing<Role>>,
    /// Skills, one of which is needed: `python,mcp`; '' for none
    #[arg(long, value_name = "TAG,…")]
    pub tags: Option<Tags>,
    /// Estimate in minutes; '' for unknown
    #[arg(long, value_name = "MINUTES")]
    pub estimated_duration: Option<OrNothing<Minutes>>,
    /// Priority: 0 (most urgent) to 4, or P0 to P4 [default: 2]
    #[arg(long, value_name = "0-4")]
    pub priority: Option<TaskPriority>,
    /// Task that must end first (repeatable); '' for none
    ///
    /// OUTCOME is `completed` (the default), `failed` or `any`.
    #[arg(long, value_name = "TASK[:OUTCOME]", value_parser = or_nothing(dependency))]
    pub depends_on: Vec<OrNothing<DependencyArgument>>,
    /// Context of earlier work, a JSON object, @FILE or -
    ///
    /// @FILE reads the object from a file, - from standard input.
    #[arg(long, value_name = "JSON")]
    pub agent_context: Option<String>,
    /// Instructions for the agent, a JSON object, @FILE or -
    ///
    /// @FILE reads the object from a file, - from standard input.
    #[arg(long, value_name = "JSON")]
    pub handoff_instructions: Option<String>,
}

/// A value, or '' to clear the field.
#[derive(Debug, Clone)]
pub(in crate::cli) struct OrNothing<T>(pub Option<T>);

impl<T: FromStr> FromStr for OrNothing<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        or_nothing(T::from_str)(text)
    }
}

fn or_nothing<T, E>(
    read: impl Fn(&str) -> Result<T, E> + Clone,
) -> impl Fn(&str) -> Result<OrNothing<T>, E> + Clone {
    move |text| match text {
        "" => Ok(OrNothing(None)),
        text => read(text).map(|value| OrNothing(Some(value))),
    }
}

/// A task that must end first, and how.
#[derive(Debug, Clone)]
pub(in crate::cli) struct DependencyArgument {
    pub task: TaskArgument,
    pub outcome: DependencyOutcome,
}

/// Tags separated by commas; '' is the empty list.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Tags(pub Vec<Skill>);

impl FromStr for Tags {
    type Err = IllegalSkill;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let tags = text.split(',').map(|tag| tag.trim().parse());
        tags.collect::<Result<_, _>>().map(Self)
    }
}

impl std::fmt::Display for Tags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tags: Vec<_> = self.0.iter().map(Skill::as_str).collect();
        f.write_str(&tags.join(","))
    }
}

/// Reads `TASK[:OUTCOME]`.
fn dependency(text: &str) -> Result<DependencyArgument, String> {
    let text = text.trim();
    let (task, outcome) = match text.rsplit_once(':') {
        None => (text, DependencyOutcome::default()),
        Some((task, word)) => {
            let outcome = DependencyOutcome::parse(word);
            let outcome =
                outcome.ok_or("the outcome after the colon must be completed, failed or any")?;
            (task, outcome)
        }
    };
    TaskId::parse(task).map_err(|error| format!("the id of a task {error}"))?;
    let Ok(task) = task.parse();
    Ok(DependencyArgument { task, outcome })
}
