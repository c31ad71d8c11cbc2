//! What is asked of a store about roles, routing, reports and increments, and what it answers.

use serde::{Deserialize, Serialize};

use crate::domain::{
    AgentName, IncrementId, NeedsChange, Report, RouteChoice, RunIdentity, Skill, Source, Task,
    TaskId, TaskPriority, Text,
};

/// A change of what a task needs.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeNeeds {
    /// The task.
    pub task_id: TaskId,
    /// What is to be set.
    pub change: NeedsChange,
    /// Whether objects are merged into what is there.
    pub merge: bool,
    /// The run in whose name it is asked, if an agent asks.
    pub caller: Option<RunIdentity>,
}

/// What is known outside of the ledger when a task is to be given to an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Who gets what nobody suits.
    pub fallback: Option<AgentName>,
    /// The programs of agents that are not on this machine.
    pub missing_programs: Vec<String>,
}

/// What became of a task that was to be given to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Routed {
    /// An agent has it.
    Started(Box<Task>),
    /// It waits until an agent changes.
    NobodySuits(RouteChoice),
    /// It is not to be given to anybody now.
    NotReady(RouteChoice),
}

/// What a run says of its work.
#[derive(Debug, Clone, PartialEq)]
pub struct GiveReport {
    /// The task that it works on.
    pub task_id: TaskId,
    /// What it says.
    pub report: Report,
    /// The run.
    pub caller: RunIdentity,
}

/// What an increment is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIncrement {
    /// Its id.
    pub id: IncrementId,
    /// What it is, in a line.
    pub title: Text,
    /// What is to be done.
    pub description: Text,
    /// How it is tested.
    pub test_command: Option<Text>,
    /// The increments that must be done before.
    pub depends_on: Vec<IncrementId>,
    /// What its agents should be good at.
    pub specialist_tags: Vec<Skill>,
    /// How urgent it is.
    pub priority: TaskPriority,
    /// Where it came from.
    pub source: Source,
    /// The task of the run that makes it, if a run does.
    pub parent_id: Option<TaskId>,
    /// The id of its first task.
    pub first_task: TaskId,
    /// The working directory of its agents.
    pub agent_workspace: Text,
}
