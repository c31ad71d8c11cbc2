//! What a task needs, as it is typed after `chorus task create` and `chorus task update`.

use std::str::FromStr;

use clap::Args;

use crate::domain::{
    Dependency, DependencyOutcome, IllegalSkill, Minutes, Role, Skill, TaskId, TaskPriority,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct NeedsArguments {
    /// Who is to work on it, such as `testing`: the router gives it to an agent with this role. '' for nobody in particular
    #[arg(long, value_name = "ROLE")]
    pub agent_role: Option<OrNothing<Role>>,
    /// What its agent should be good at, such as `python,mcp`: one of these is enough. '' for nothing
    #[arg(long, value_name = "TAG,…")]
    pub tags: Option<Tags>,
    /// How many minutes it will take, as you think. '' if nobody knows
    #[arg(long, value_name = "MINUTES")]
    pub estimated_duration: Option<OrNothing<Minutes>>,
    /// How urgent it is: 0 (the most urgent) to 4, or P0 to P4; 2 if nobody says
    #[arg(long, value_name = "0-4")]
    pub priority: Option<TaskPriority>,
    /// A task that comes first, and how it must end: completed (if nothing is said), failed or any (repeatable). '' for none
    #[arg(long, value_name = "TASK[:OUTCOME]", value_parser = or_nothing(dependency))]
    pub depends_on: Vec<OrNothing<Dependency>>,
    /// What was done before, for whoever works on it: a JSON object; @FILE reads it from a file, - from standard input
    #[arg(long, value_name = "JSON")]
    pub agent_context: Option<String>,
    /// What whoever works on it is to do: a JSON object; @FILE reads it from a file, - from standard input
    #[arg(long, value_name = "JSON")]
    pub handoff_instructions: Option<String>,
}

/// A value, or nothing: '' takes away what was set.
#[derive(Debug, Clone)]
pub(in crate::cli) struct OrNothing<T>(pub Option<T>);

impl<T: FromStr> FromStr for OrNothing<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        or_nothing(T::from_str)(text)
    }
}

/// Reads a value, or nothing.
fn or_nothing<T, E>(
    read: impl Fn(&str) -> Result<T, E> + Clone,
) -> impl Fn(&str) -> Result<OrNothing<T>, E> + Clone {
    move |text| match text {
        "" => Ok(OrNothing(None)),
        text => read(text).map(|value| OrNothing(Some(value))),
    }
}

/// Tags that commas separate; none in ''.
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

/// Reads a task and how it must end.
fn dependency(text: &str) -> Result<Dependency, String> {
    let (task, outcome) = match text.rsplit_once(':') {
        None => (text, DependencyOutcome::default()),
        Some((task, word)) => {
            let outcome = DependencyOutcome::parse(word);
            let outcome = outcome.ok_or("behind the : must be completed, failed or any")?;
            (task, outcome)
        }
    };
    Ok(Dependency {
        task_id: TaskId::parse(task).map_err(|error| format!("the id of a task {error}"))?,
        outcome,
    })
}
