//! Reasons why the router does not assign a task.

use serde::{Deserialize, Serialize};

use super::suitability::Assessment;
use crate::domain::{AgentName, Dependency, Role, Skill, StatusName, Task, TaskId, Text};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnmetDependency {
    pub dependency: Dependency,
    /// The status of the task depended on.
    pub status: StatusName,
}

/// The reason why the router does not assign a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum WaitReason {
    WorkedOn(AgentName),
    /// The operator must decide first.
    Blocked(Text),
    NotPending(StatusName),
    /// Dependencies are not met.
    Dependencies(Vec<UnmetDependency>),
    NoRole,
    NobodySuits {
        role: Role,
        tags: Vec<Skill>,
    },
}

impl WaitReason {
    /// Returns the first reason that does not depend on the available agents.
    pub fn of(task: &Task, unmet: Vec<UnmetDependency>) -> Option<Self> {
        if let Some(current) = task.current_agent() {
            return Some(Self::WorkedOn(current.clone()));
        }
        if task.routing.blocked
            && let Some(reason) = &task.routing.waiting_reason
        {
            return Some(Self::Blocked(reason.clone()));
        }
        if task.status.name() != StatusName::Pending {
            return Some(Self::NotPending(task.status.name()));
        }
        if !unmet.is_empty() {
            return Some(Self::Dependencies(unmet));
        }
        task.needs.agent_role.is_none().then_some(Self::NoRole)
    }
}

/// The agent that the router chooses for a task, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub task_id: TaskId,
    pub agent: Option<AgentName>,
    /// Whether the fallback agent was chosen because no agent qualifies.
    pub is_fallback: bool,
    pub waits: Option<WaitReason>,
    /// Whether the router can assign the task to a qualified agent now.
    pub is_ready: bool,
    /// All agents: those that qualify first, best first.
    pub candidates: Vec<Assessment>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Context, DependencyOutcome, Needs, NewTask, Routing, Source, Status, TaskPlan, Timestamp,
    };

    fn task(role: Option<&str>) -> Task {
        let new = NewTask {
            plan: TaskPlan::default(),
            id: TaskId::new(),
            parent_id: None,
            session_id: None,
            context: Context::default(),
            needs: Needs {
                agent_role: role.map(|role| Role::parse(role).unwrap()),
                ..Needs::default()
            },
            part: None,
            description: "a task".parse().unwrap(),
            source: Source::default(),
            agent_workspace: "/".parse().unwrap(),
        };
        Task::new(new, Timestamp::default())
    }

    #[test]
    fn the_first_reason_wins() {
        let unmet = UnmetDependency {
            dependency: Dependency {
                task_id: TaskId::new(),
                outcome: DependencyOutcome::Completed,
            },
            status: StatusName::Active,
        };
        let ready = task(Some("testing"));
        assert_eq!(WaitReason::of(&ready, vec![]), None);
        assert_eq!(
            WaitReason::of(&task(None), vec![]),
            Some(WaitReason::NoRole)
        );
        assert_eq!(
            WaitReason::of(&task(None), vec![unmet.clone()]),
            Some(WaitReason::Dependencies(vec![unmet.clone()]))
        );
        let mut waiting = ready.clone();
        waiting.status = Status::Waiting;
        assert_eq!(
            WaitReason::of(&waiting, vec![unmet]),
            Some(WaitReason::NotPending(StatusName::Waiting))
        );
        let reason: Text = "it failed".parse().unwrap();
        waiting.routing = Routing {
            attempts: 2,
            waiting_reason: Some(reason.clone()),
            blocked: true,
        };
        assert_eq!(
            WaitReason::of(&waiting, vec![]),
            Some(WaitReason::Blocked(reason))
        );
    }
}
