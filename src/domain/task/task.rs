//! Tasks: units of work with an agent chain.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::attachment::Attachment;
use super::dependency::Dependency;
use super::id::TaskId;
use super::needs::Needs;
use super::planning::{Planning, PlanningChange, SharedPlan, TaskPlan};
use super::priority::TaskPriority;
use super::status::Status;
use crate::domain::handoff::ChainEntryWire;
use crate::domain::text::field::distinct;
use crate::domain::{
    AgentName, ChainEntry, Context, Correspondent, Door, HandoffEnd, HandoffId, IncrementId,
    IncrementPart, Minutes, Outcome, Refusal, Role, Skill, Stage, Text, Timestamp,
};

/// The most bytes of an error that the status of a delegated task repeats.
const FAILURE: usize = 1000;

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "TaskWire")]
pub struct Task {
    pub id: TaskId,
    pub description: Text,
    pub plan: TaskPlan,
    pub status: Status,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub session_id: Option<Text>,
    /// The task whose agent handed it on.
    pub parent_id: Option<TaskId>,
    /// The root of the task's family; `None` for the root itself.
    pub root_id: Option<TaskId>,
    /// Variables passed with hand-offs.
    pub context: Context,
    pub needs: Needs,
    /// The place in an increment.
    pub part: Option<IncrementPart>,
    pub routing: Routing,
    /// Whether the task was made for a delegated hand-off, with which it ends.
    pub is_delegated: bool,
    pub source: Source,
    /// The working directory of the agents.
    pub agent_workspace: Text,
    pub attachments: Vec<Attachment>,
    /// The hand-offs in order. Only the last entry can be open.
    agent_chain: Vec<ChainEntry>,
}

/// The progress of the router with a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routing {
    /// The number of assignments.
    pub attempts: u32,
    /// The reason why the router does not assign the task.
    pub waiting_reason: Option<Text>,
    /// Whether the operator must decide; otherwise the task waits for an agent that qualifies.
    pub blocked: bool,
}

/// A task to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    pub id: TaskId,
    pub description: Text,
    pub parent_id: Option<TaskId>,
    pub session_id: Option<Text>,
    pub context: Context,
    pub needs: Needs,
    pub part: Option<IncrementPart>,
    pub plan: TaskPlan,
    pub source: Source,
    pub agent_workspace: Text,
}

/// The source of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({ "sourceType": "api", "userId": "anonymous", "conversationId": null }))]
pub struct Source {
    /// The interface, such as `api` or `cli`.
    #[serde(default = "Source::default_type")]
    pub source_type: Text,
    /// The user that created the task.
    #[serde(default = "Source::default_user")]
    pub user_id: Text,
    /// The conversation in which the task was created.
    #[serde(default)]
    pub conversation_id: Option<Text>,
}

impl Source {
    fn default_type() -> Text {
        "api".parse().expect("has no NUL")
    }

    fn default_user() -> Text {
        Correspondent::ANONYMOUS.parse().expect("has no NUL")
    }
}

impl Default for Source {
    fn default() -> Self {
        Self {
            source_type: Self::default_type(),
            user_id: Self::default_user(),
            conversation_id: None,
        }
    }
}

impl Task {
    pub fn new(new: NewTask, at: Timestamp) -> Self {
        Self {
            id: new.id,
            description: new.description,
            plan: new.plan,
            status: Status::Pending,
            created_at: at,
            updated_at: at,
            session_id: new.session_id,
            parent_id: new.parent_id,
            root_id: None,
            context: new.context,
            needs: new.needs,
            part: new.part,
            routing: Routing::default(),
            is_delegated: false,
            source: new.source,
            agent_workspace: new.agent_workspace,
            attachments: Vec::new(),
            agent_chain: Vec::new(),
        }
    }

    /// Returns the root of the task's family, which may be the task itself.
    pub fn root_id(&self) -> &TaskId {
        self.root_id.as_ref().unwrap_or(&self.id)
    }

    /// Returns the plan of a task that stands for this one: the two share it.
    pub fn share_plan(&self) -> TaskPlan {
        let holder = self.plan.shared.as_ref();
        let task_id = holder.map_or(&self.id, |holder| &holder.task_id).clone();
        TaskPlan {
            planning: self.plan.planning.clone(),
            shared: Some(SharedPlan { task_id }),
        }
    }

    /// Whether the agent must report a result.
    pub fn wants_report(&self) -> bool {
        self.part
            .as_ref()
            .is_some_and(|part| part.stage.wants_report())
    }

    pub fn current_agent(&self) -> Option<&AgentName> {
        self.open_handoff().map(|entry| &entry.agent_name)
    }

    pub fn agent_chain(&self) -> &[ChainEntry] {
        &self.agent_chain
    }

    /// Sets the stored chain, if only its last entry is open.
    pub fn with_agent_chain(
        mut self,
        agent_chain: Vec<ChainEntry>,
    ) -> Result<Self, ContradictoryTask> {
        let closed = agent_chain.len().saturating_sub(1);
        if agent_chain[..closed].iter().any(ChainEntry::is_open) {
            return Err(ContradictoryTask::OpenEntryNotLast);
        }
        self.agent_chain = agent_chain;
        Ok(self)
    }

    pub fn open_handoff(&self) -> Option<&ChainEntry> {
        self.agent_chain.last().filter(|entry| entry.is_open())
    }

    pub fn is_worked_on_by(&self, handoff_id: &HandoffId) -> bool {
        self.open_handoff()
            .is_some_and(|open| open.id == *handoff_id)
    }

    /// Starts a hand-off: adds an open entry to the chain.
    pub fn start_handoff(
        &mut self,
        agent_name: AgentName,
        from_agent: Option<AgentName>,
        mode: Door,
        at: Timestamp,
    ) -> Result<&ChainEntry, Refusal> {
        if let Some(current) = self.current_agent() {
            return Err(Refusal::AgentActive(current.clone()));
        }
        self.agent_chain.push(ChainEntry {
            id: HandoffId::new(),
            agent_name,
            from_agent,
            mode,
            started_at: at,
            end: None,
            request: None,
        });
        self.status = match &self.status {
            // Its last hand-off has ended the task, and not a person.
            status if self.is_delegated && status.is_ended() => Status::Active,
            status => status.clone().after_handoff_started(),
        };
        self.updated_at = at;
        Ok(self.agent_chain.last().expect("has just been pushed"))
    }

    pub fn end_handoff(
        &mut self,
        outcome: Outcome,
        output: Text,
        at: Timestamp,
    ) -> Result<&ChainEntry, Refusal> {
        let no_open_handoff = Refusal::NoOpenHandoff {
            task_id: self.id.clone(),
            last: self
                .agent_chain
                .last()
                .map(|entry| entry.agent_name.clone()),
        };
        let entry = self
            .agent_chain
            .last_mut()
            .filter(|entry| entry.is_open())
            .ok_or(no_open_handoff)?;
        entry.end = Some(HandoffEnd {
            at,
            outcome,
            output,
        });
        self.status = self.status.clone().after_handoff_ended();
        self.updated_at = at;
        Ok(entry)
    }

    /// Returns the status of a delegated task after its hand-off, unless the task has another one by then.
    pub fn status_after_delegation(&self, outcome: Outcome, output: &Text) -> Option<Status> {
        if !self.is_delegated || self.status != Status::Waiting {
            return None;
        }
        Some(match outcome {
            Outcome::Completed => Status::Completed,
            Outcome::Failed | Outcome::Cancelled | Outcome::TimedOut | Outcome::Interrupted => {
                Status::Failed {
                    message: output.beginning(FAILURE),
                }
            }
        })
    }

    /// Returns false if the status was the same.
    pub fn set_status(&mut self, status: Status, at: Timestamp) -> bool {
        if self.status == status {
            return false;
        }
        self.status = status;
        self.updated_at = at;
        true
    }

    /// Updates the planning fields without touching the agent chain. Returns false if nothing changed.
    pub fn plan(&mut self, change: PlanningChange, at: Timestamp) -> bool {
        let planning = Some(change.apply(self.plan.planning.clone()));
        if self.plan.planning == planning {
            return false;
        }
        self.plan.planning = planning;
        self.updated_at = at;
        true
    }
}

/// Whether a task has planning fields.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum TaskType {
    DescriptionOnly,
    Planned,
}

impl Serialize for Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut task = serializer.serialize_struct("Task", 33)?;
        let task_type = if self.plan.planning.is_some() {
            TaskType::Planned
        } else {
            TaskType::DescriptionOnly
        };
        task.serialize_field("taskType", &task_type)?;
        task.serialize_field("id", &self.id)?;
        task.serialize_field("description", &self.description)?;
        if let Some(Planning {
            summary,
            requirements,
            acceptance_criteria,
            plan,
        }) = &self.plan.planning
        {
            task.serialize_field("summary", summary)?;
            task.serialize_field("requirements", requirements)?;
            task.serialize_field("acceptanceCriteria", acceptance_criteria)?;
            task.serialize_field("plan", plan)?;
        }
        task.serialize_field("status", &self.status)?;
        task.serialize_field("createdAt", &self.created_at)?;
        task.serialize_field("updatedAt", &self.updated_at)?;
        task.serialize_field("sessionId", &self.session_id)?;
        task.serialize_field("source", &self.source)?;
        task.serialize_field("agentWorkspace", &self.agent_workspace)?;
        task.serialize_field("attachments", &self.attachments)?;
        task.serialize_field("currentAgent", &self.current_agent())?;
        task.serialize_field("agentChain", &self.agent_chain)?;
        task.serialize_field("parentId", &self.parent_id)?;
        task.serialize_field("masterTaskId", &self.root_id)?;
        task.serialize_field("context", &self.context)?;
        let Needs {
            agent_role,
            specialist_tags,
            estimated_duration,
            priority,
            depends_on,
            agent_context,
            handoff_instructions,
        } = &self.needs;
        task.serialize_field("agentRole", agent_role)?;
        task.serialize_field("specialistTags", specialist_tags)?;
        task.serialize_field("estimatedDuration", estimated_duration)?;
        task.serialize_field("priority", priority)?;
        task.serialize_field("dependsOn", depends_on)?;
        task.serialize_field("agentContext", agent_context)?;
        task.serialize_field("handoffInstructions", handoff_instructions)?;
        let part = self.part.as_ref();
        task.serialize_field("incrementId", &part.map(|part| &part.increment_id))?;
        task.serialize_field("stage", &part.map(|part| part.stage))?;
        task.serialize_field("round", &part.map(|part| part.round))?;
        task.serialize_field("routeAttempts", &self.routing.attempts)?;
        task.serialize_field("waitingReason", &self.routing.waiting_reason)?;
        task.serialize_field("blocked", &self.routing.blocked)?;
        if self.is_delegated {
            task.serialize_field("delegated", &true)?;
        }
        task.serialize_field("sharedPlan", &self.plan.shared)?;
        task.end()
    }
}

/// A unit of work.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "a task")]
#[schema(as = Task)]
pub(crate) struct TaskWire {
    /// Whether the task has planning fields.
    task_type: TaskType,
    /// The id of the task.
    id: TaskId,
    /// The description of the task.
    description: Text,
    /// A summary of the task; absent unless it is planned.
    #[schema(nullable = false)]
    summary: Option<Text>,
    /// The requirements; absent unless the task is planned.
    #[schema(nullable = false)]
    requirements: Option<Vec<Text>>,
    /// The criteria by which the task counts as done; absent unless it is planned.
    #[schema(nullable = false)]
    acceptance_criteria: Option<Vec<Text>>,
    /// The steps of the plan; absent unless the task is planned.
    #[schema(nullable = false)]
    plan: Option<Vec<Text>>,
    /// The status of the task.
    status: Status,
    /// The time of creation.
    created_at: Timestamp,
    /// The time of the last change.
    updated_at: Timestamp,
    /// The session of the task.
    #[schema(required)]
    session_id: Option<Text>,
    /// The source of the task.
    source: Source,
    /// The working directory of the agents.
    agent_workspace: Text,
    /// The files of the task.
    attachments: Vec<Attachment>,
    /// The agent that works on the task now.
    #[schema(required)]
    current_agent: Option<AgentName>,
    /// The hand-offs in order. Only the last entry can be open.
    #[serde(default)]
    #[schema(required, value_type = Vec<ChainEntryWire>)]
    agent_chain: Vec<ChainEntry>,
    /// The task whose agent handed it on.
    #[schema(required)]
    parent_id: Option<TaskId>,
    /// The root of the task's family; null for the root itself.
    #[schema(required)]
    master_task_id: Option<TaskId>,
    /// The variables passed with hand-offs.
    #[serde(default)]
    #[schema(required, value_type = Object)]
    context: Context,
    /// The role of the agent. The router assigns the task to an agent with this role.
    #[schema(required)]
    agent_role: Option<Role>,
    /// The wanted skills of the agent.
    #[serde(default, deserialize_with = "distinct")]
    #[schema(required)]
    specialist_tags: Vec<Skill>,
    /// The estimated duration in minutes.
    #[schema(required)]
    estimated_duration: Option<Minutes>,
    /// The urgency of the task.
    #[serde(default)]
    #[schema(required)]
    priority: TaskPriority,
    /// The dependencies. The task is ready when it is pending and all dependencies are met.
    #[serde(default)]
    #[schema(required)]
    depends_on: Vec<Dependency>,
    /// Information from earlier agents.
    #[serde(default)]
    #[schema(required, value_type = Object)]
    agent_context: Map<String, Value>,
    /// Instructions for the next agent.
    #[serde(default)]
    #[schema(required, value_type = Object)]
    handoff_instructions: Map<String, Value>,
    /// The increment of the task.
    #[schema(required)]
    increment_id: Option<IncrementId>,
    /// The stage of the increment.
    #[schema(required)]
    stage: Option<Stage>,
    /// The round of the increment.
    #[schema(required)]
    round: Option<u32>,
    /// The number of assignments by the router.
    #[serde(default)]
    #[schema(required)]
    route_attempts: u32,
    /// The reason why the router does not assign the task.
    #[schema(required)]
    waiting_reason: Option<Text>,
    /// Whether the operator must decide before the work continues.
    #[serde(default)]
    #[schema(required)]
    blocked: bool,
    /// Whether the task was made for a delegated hand-off, with which it ends; absent if false.
    #[serde(default)]
    #[schema(required = false)]
    delegated: bool,
    /// The task whose plan this one shares, because it stands for that task or is a part of it. Planning either of them plans both.
    #[schema(required)]
    shared_plan: Option<SharedPlan>,
}

#[derive(Debug, thiserror::Error)]
pub enum ContradictoryTask {
    #[error(
        "a task of type `planned` must have `summary`, `requirements`, `acceptanceCriteria` and `plan`; a task of type `descriptionOnly` must have none of them"
    )]
    Planning,
    #[error(
        "`currentAgent` must be the agent of the open entry of `agentChain`, or null if no entry is open"
    )]
    CurrentAgent,
    #[error("only the last entry of `agentChain` may be without `completedAt`")]
    OpenEntryNotLast,
    #[error("`incrementId`, `stage` and `round` (1 or more) must all be set or all be null")]
    IncompletePart,
    #[error("a task with `blocked` must have a `waitingReason`")]
    BlockedWithoutReason,
}

impl TryFrom<TaskWire> for Task {
    type Error = ContradictoryTask;

    fn try_from(wire: TaskWire) -> Result<Self, Self::Error> {
        let planning = match (
            wire.task_type,
            wire.summary,
            wire.requirements,
            wire.acceptance_criteria,
            wire.plan,
        ) {
            (TaskType::DescriptionOnly, None, None, None, None) => None,
            (
                TaskType::Planned,
                Some(summary),
                Some(requirements),
                Some(acceptance_criteria),
                Some(plan),
            ) => Some(Planning {
                summary,
                requirements,
                acceptance_criteria,
                plan,
            }),
            _ => return Err(ContradictoryTask::Planning),
        };
        let part = match (wire.increment_id, wire.stage, wire.round) {
            (None, None, None) => None,
            (Some(increment_id), Some(stage), Some(round @ 1..)) => Some(IncrementPart {
                increment_id,
                stage,
                round,
            }),
            _ => return Err(ContradictoryTask::IncompletePart),
        };
        if wire.blocked && wire.waiting_reason.is_none() {
            return Err(ContradictoryTask::BlockedWithoutReason);
        }
        let task = Self {
            id: wire.id,
            description: wire.description,
            plan: TaskPlan {
                planning,
                shared: wire.shared_plan,
            },
            status: wire.status,
            created_at: wire.created_at,
            updated_at: wire.updated_at,
            session_id: wire.session_id,
            parent_id: wire.parent_id,
            root_id: wire.master_task_id,
            context: wire.context,
            needs: Needs {
                agent_role: wire.agent_role,
                specialist_tags: wire.specialist_tags,
                estimated_duration: wire.estimated_duration,
                priority: wire.priority,
                depends_on: wire.depends_on,
                agent_context: wire.agent_context,
                handoff_instructions: wire.handoff_instructions,
            },
            part,
            routing: Routing {
                attempts: wire.route_attempts,
                waiting_reason: wire.waiting_reason,
                blocked: wire.blocked,
            },
            is_delegated: wire.delegated,
            source: wire.source,
            agent_workspace: wire.agent_workspace,
            attachments: wire.attachments,
            agent_chain: Vec::new(),
        }
        .with_agent_chain(wire.agent_chain)?;
        if task.current_agent() == wire.current_agent.as_ref() {
            Ok(task)
        } else {
            Err(ContradictoryTask::CurrentAgent)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::attachment::Filename;
    use super::super::needs::tests::any_needs;
    use super::super::status::tests::any_status;
    use super::super::summary::TaskSummary;
    use super::*;
    use crate::domain::handoff::any_entry;
    use crate::domain::text::any_text;

    fn any_planning() -> impl Strategy<Value = Planning> {
        let texts = || proptest::collection::vec(any_text(), 0..3);
        (any_text(), texts(), texts(), texts()).prop_map(
            |(summary, requirements, acceptance_criteria, plan)| Planning {
                summary,
                requirements,
                acceptance_criteria,
                plan,
            },
        )
    }

    fn any_attachment() -> impl Strategy<Value = Attachment> {
        (
            "[^/\\\\\\p{C}.]{1,20}",
            any::<u64>(),
            any_text(),
            any::<i64>(),
        )
            .prop_map(|(name, size, content_type, at)| Attachment {
                filename: Filename::try_from(name).unwrap(),
                size,
                content_type,
                uploaded_at: Timestamp::from_millis(at),
            })
    }

    prop_compose! {
        fn any_task()(
            id in "[A-Za-z0-9_-][A-Za-z0-9._-]{0,60}",
            (description, workspace, user) in (any_text(), any_text(), any_text()),
            planning in proptest::option::of(any_planning()),
            shared in proptest::option::of(Just(SharedPlan { task_id: TaskId::new() })),
            status in any_status(),
            (created_at, updated_at) in any::<(i64, i64)>(),
            session_id in proptest::option::of(any_text()),
            attachments in proptest::collection::vec(any_attachment(), 0..3),
            (mut chain, needs) in (proptest::collection::vec(any_entry(), 0..4), any_needs()),
            waiting_reason in proptest::option::of(any_text()),
            part in proptest::option::of((0..4_usize, 1..9_u32)),
        ) -> Task {
            let last = chain.pop();
            chain.retain(|entry| !entry.is_open());
            chain.extend(last);
            let new = NewTask {
                plan: TaskPlan::default(),
                id: TaskId::parse(id).unwrap(),
                description,
                parent_id: None,
                session_id,
                context: Context::default(),
                needs,
                part: None,
                source: Source { user_id: user, ..Source::default() },
                agent_workspace: workspace,
            };
            let mut task = Task::new(new, Timestamp::from_millis(created_at)).with_agent_chain(chain).unwrap();
            task.plan = TaskPlan { planning, shared };
            task.status = status;
            task.updated_at = Timestamp::from_millis(updated_at);
            task.attachments = attachments;
            task.is_delegated = created_at % 2 == 0;
            task.part = part.map(|(stage, round)| IncrementPart {
                increment_id: IncrementId::new(),
                stage: Stage::ALL[stage],
                round,
            });
            task.routing = Routing {
                attempts: 3,
                blocked: waiting_reason.is_some(),
                waiting_reason,
            };
            task
        }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn agent(name: &str) -> AgentName {
        AgentName::parse(name).unwrap()
    }

    fn new_task() -> Task {
        let new = NewTask {
            plan: TaskPlan::default(),
            id: TaskId::new(),
            description: "Write it".parse().unwrap(),
            parent_id: None,
            session_id: None,
            context: Context::default(),
            needs: Needs::default(),
            part: None,
            source: Source::default(),
            agent_workspace: Text::default(),
        };
        Task::new(new, at(1))
    }

    proptest! {
        #[test]
        fn a_task_survives_the_wire(task in any_task()) {
            let json = serde_json::to_string(&task).unwrap();
            prop_assert_eq!(serde_json::from_str::<Task>(&json).unwrap(), task);
        }

        #[test]
        fn a_summary_survives_the_wire_and_names_the_current_agent(task in any_task()) {
            let summary = TaskSummary::from(&task);
            let json = serde_json::to_string(&summary).unwrap();
            prop_assert_eq!(summary.current_agent.as_ref(), task.current_agent());
            prop_assert_eq!(serde_json::from_str::<TaskSummary>(&json).unwrap(), summary);
        }

        #[test]
        fn planning_keeps_everything_else(task in any_task(), planning in any_planning()) {
            let mut planned = task.clone();
            let change = PlanningChange {
                summary: Some(planning.summary.clone()),
                requirements: Some(planning.requirements.clone()),
                acceptance_criteria: Some(planning.acceptance_criteria.clone()),
                plan: Some(planning.plan.clone()),
            };
            planned.plan(change, task.updated_at);
            prop_assert_eq!(planned.current_agent(), task.current_agent());
            prop_assert_eq!(planned.agent_chain(), task.agent_chain());
            prop_assert_eq!(planned.plan.planning.as_ref(), Some(&planning));
            planned.plan = task.plan.clone();
            prop_assert_eq!(planned, task);
        }

        /// The chain only grows, an ended entry never changes, and only the last entry can be open.
        #[test]
        fn a_chain_only_grows(
            task in any_task(),
            steps in proptest::collection::vec((any::<bool>(), 0..5_usize, any_text()), 0..20),
        ) {
            let mut task = task;
            for (starts, outcome, output) in steps {
                let before = task.clone();
                let result = if starts {
                    task.start_handoff(agent("qa"), None, Door::Delegate, at(5)).cloned()
                } else {
                    task.end_handoff(Outcome::ALL[outcome], output, at(6)).cloned()
                };
                let was_open = before.open_handoff().is_some();
                prop_assert_eq!(result.is_ok(), starts != was_open);
                let Ok(entry) = result else {
                    prop_assert_eq!(&task, &before);
                    continue;
                };
                prop_assert_eq!(task.agent_chain().last(), Some(&entry));
                prop_assert_eq!(task.open_handoff().is_some(), starts);
                let kept = before.agent_chain().len() - usize::from(was_open);
                prop_assert_eq!(&task.agent_chain()[..kept], &before.agent_chain()[..kept]);
                prop_assert_eq!(task.agent_chain().len(), kept + 1);
            }
        }
    }

    #[test]
    fn a_handoff_makes_its_agent_current_until_it_ends() {
        let mut task = new_task();
        assert_eq!(task.current_agent(), None);
        task.start_handoff(agent("developer"), None, Door::Delegate, at(2))
            .unwrap();
        assert_eq!(task.current_agent(), Some(&agent("developer")));
        assert_eq!((&task.status, task.updated_at), (&Status::Active, at(2)));
        task.end_handoff(Outcome::Completed, "done".parse().unwrap(), at(3))
            .unwrap();
        assert_eq!(task.current_agent(), None);
        assert_eq!((&task.status, task.updated_at), (&Status::Waiting, at(3)));
    }

    #[test]
    fn a_status_that_was_set_during_a_handoff_stays() {
        for (status, after) in [
            (Status::Active, Status::Waiting),
            (Status::Pending, Status::Pending),
            (Status::Completed, Status::Completed),
        ] {
            let mut task = new_task();
            task.start_handoff(agent("developer"), None, Door::Delegate, at(2))
                .unwrap();
            task.set_status(status, at(3));
            task.end_handoff(Outcome::Completed, Text::default(), at(4))
                .unwrap();
            assert_eq!(task.status, after);
        }
    }

    #[test]
    fn a_delegated_task_ends_with_its_handoff_and_begins_again_with_the_next() {
        let mut task = new_task();
        let output: Text = "no idea".parse().unwrap();
        for (outcome, status) in [
            (Outcome::Completed, Status::Completed),
            (
                Outcome::TimedOut,
                Status::Failed {
                    message: output.clone(),
                },
            ),
        ] {
            task.is_delegated = true;
            task.start_handoff(agent("qa"), None, Door::Delegate, at(2))
                .unwrap();
            assert_eq!(task.status, Status::Active);
            task.end_handoff(outcome, output.clone(), at(3)).unwrap();
            assert_eq!(
                task.status_after_delegation(outcome, &output),
                Some(status.clone())
            );
            task.is_delegated = false;
            assert_eq!(task.status_after_delegation(outcome, &output), None);
            task.is_delegated = true;
            task.set_status(status, at(4));
            assert_eq!(task.status_after_delegation(outcome, &output), None);
        }
    }

    #[test]
    fn a_second_completion_is_refused() {
        let mut task = new_task();
        let refusal = task
            .end_handoff(Outcome::Completed, Text::default(), at(2))
            .unwrap_err();
        let never_handed_off = Refusal::NoOpenHandoff {
            task_id: task.id.clone(),
            last: None,
        };
        assert_eq!(refusal, never_handed_off);
        task.start_handoff(agent("developer"), None, Door::Delegate, at(2))
            .unwrap();
        task.end_handoff(Outcome::Completed, Text::default(), at(3))
            .unwrap();
        let refusal = task
            .end_handoff(Outcome::Completed, Text::default(), at(4))
            .unwrap_err();
        let already_ended = Refusal::NoOpenHandoff {
            task_id: task.id,
            last: Some(agent("developer")),
        };
        assert_eq!(refusal, already_ended);
    }

    #[test]
    fn setting_the_same_status_changes_nothing() {
        let mut task = new_task();
        assert!(!task.set_status(Status::Pending, at(9)));
        assert_eq!(task.updated_at, at(1));
        assert!(task.set_status(Status::Completed, at(9)));
        assert_eq!(task.updated_at, at(9));
    }

    #[test]
    fn a_contradictory_task_is_refused() {
        let mut task = new_task();
        task.start_handoff(agent("qa"), None, Door::Delegate, at(2))
            .unwrap();
        let good = serde_json::to_value(&task).unwrap();
        assert!(serde_json::from_value::<Task>(good.clone()).is_ok());
        let spoiled = |spoil: fn(&mut serde_json::Value)| {
            let mut json = good.clone();
            spoil(&mut json);
            serde_json::from_value::<Task>(json)
                .unwrap_err()
                .to_string()
        };
        assert!(
            spoiled(|json| json["currentAgent"] = "developer".into())
                .contains("`currentAgent` must be")
        );
        assert!(
            spoiled(|json| json["currentAgent"] = serde_json::Value::Null)
                .contains("`currentAgent` must be")
        );
        assert!(
            spoiled(|json| json["taskType"] = "planned".into())
                .contains("`planned` must have `summary`")
        );
        assert!(
            spoiled(|json| json["plan"] = serde_json::json!([]))
                .contains("`descriptionOnly` must have none")
        );
        let twice_open = spoiled(|json| {
            let entry = json["agentChain"][0].clone();
            json["agentChain"].as_array_mut().unwrap().push(entry);
        });
        assert!(twice_open.contains("only the last entry"), "{twice_open}");
    }
}
