//! Tasks: units of work with an agent chain.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::attachment::Attachment;
use super::dependency::Dependency;
use super::id::TaskId;
use super::needs::Needs;
use super::planning::{Planning, PlanningChange};
use super::priority::TaskPriority;
use super::status::Status;
use crate::domain::handoff::ChainEntryWire;
use crate::domain::text::given::distinct;
use crate::domain::{
    AgentName, ChainEntry, Context, Door, HandoffEnd, HandoffId, IncrementId, IncrementPart,
    Minutes, Outcome, Refusal, Role, Skill, Stage, Text, Timestamp,
};

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "TaskWire")]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// What is to be done.
    pub description: Text,
    /// The plan, if it is planned.
    pub planning: Option<Planning>,
    /// Where it stands.
    pub status: Status,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The session that it belongs to.
    pub session_id: Option<Text>,
    /// The task from which it was handed on.
    pub parent_id: Option<TaskId>,
    /// The root of its family, unless it is that itself.
    pub root_id: Option<TaskId>,
    /// What came with the hand-offs to it.
    pub context: Context,
    /// What it needs.
    pub needs: Needs,
    /// Which part of an increment it is.
    pub part: Option<IncrementPart>,
    /// How far the router is with it.
    pub routing: Routing,
    /// Where it came from.
    pub source: Source,
    /// The working directory of its agents.
    pub agent_workspace: Text,
    /// Its files.
    pub attachments: Vec<Attachment>,
    /// Who worked on it, in order. Only the last entry can be open.
    agent_chain: Vec<ChainEntry>,
}

/// How far the router is with a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routing {
    /// How often it was given to an agent.
    pub attempts: u32,
    /// Why the router does not go on with it.
    pub waiting_reason: Option<Text>,
    /// Whether a person must look; otherwise it waits for an agent who suits.
    pub blocked: bool,
}

/// What a task is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTask {
    /// Its id.
    pub id: TaskId,
    /// What is to be done.
    pub description: Text,
    /// The task from which it was handed on.
    pub parent_id: Option<TaskId>,
    /// The session that it belongs to.
    pub session_id: Option<Text>,
    /// What came with the hand-off to it.
    pub context: Context,
    /// What it needs.
    pub needs: Needs,
    /// Which part of an increment it is.
    pub part: Option<IncrementPart>,
    /// Where it came from.
    pub source: Source,
    /// The working directory of its agents.
    pub agent_workspace: Text,
}

/// Where a task came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({ "sourceType": "api", "userId": "anonymous", "conversationId": null }))]
pub struct Source {
    /// The door, such as `api` or `cli`.
    #[serde(default = "Source::default_type")]
    pub source_type: Text,
    /// Who asked.
    #[serde(default = "Source::default_user")]
    pub user_id: Text,
    /// The conversation in which it was asked.
    #[serde(default)]
    pub conversation_id: Option<Text>,
}

impl Source {
    fn default_type() -> Text {
        "api".parse().expect("has no NUL")
    }

    fn default_user() -> Text {
        "anonymous".parse().expect("has no NUL")
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
    /// Makes a task that nobody has worked on.
    pub fn new(new: NewTask, at: Timestamp) -> Self {
        Self {
            id: new.id,
            description: new.description,
            planning: None,
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

    /// Tells whether its agent must say what came out.
    pub fn wants_report(&self) -> bool {
        self.part
            .as_ref()
            .is_some_and(|part| part.stage.wants_report())
    }

    /// Returns who works on it now.
    pub fn current_agent(&self) -> Option<&AgentName> {
        self.open_handoff().map(|entry| &entry.agent_name)
    }

    /// Returns who worked on it, in order.
    pub fn agent_chain(&self) -> &[ChainEntry] {
        &self.agent_chain
    }

    /// Gives a task the chain that was stored for it.
    pub fn with_agent_chain(
        mut self,
        agent_chain: Vec<ChainEntry>,
    ) -> Result<Self, ContradictoryTask> {
        let closed = agent_chain.len().saturating_sub(1);
        if agent_chain[..closed].iter().any(ChainEntry::is_open) {
            return Err(ContradictoryTask::OpenInTheMiddle);
        }
        self.agent_chain = agent_chain;
        Ok(self)
    }

    /// Returns the hand-off that has not ended.
    pub fn open_handoff(&self) -> Option<&ChainEntry> {
        self.agent_chain.last().filter(|entry| entry.is_open())
    }

    /// Tells whether a hand-off is the open one.
    pub fn is_worked_on_by(&self, handoff_id: &HandoffId) -> bool {
        self.open_handoff()
            .is_some_and(|open| open.id == *handoff_id)
    }

    /// Hands the task to an agent: the chain grows by one open entry.
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
        self.status = self.status.clone().after_handoff_started();
        self.updated_at = at;
        Ok(self.agent_chain.last().expect("has just been pushed"))
    }

    /// Ends the open hand-off.
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
        // What a person has ended while the router's agent, or that of a stage, worked stays ended.
        let is_decided = self.status.is_ended();
        let is_kept = entry.mode == Door::Route || self.part.is_some();
        if !is_kept || !is_decided {
            self.status = self.status.clone().after_handoff_ended();
        }
        self.updated_at = at;
        Ok(entry)
    }

    /// Sets the status. Returns false if it was that already.
    pub fn set_status(&mut self, status: Status, at: Timestamp) -> bool {
        if self.status == status {
            return false;
        }
        self.status = status;
        self.updated_at = at;
        true
    }

    /// Sets planning fields; who worked on the task stays as it is. Returns false if nothing changed.
    pub fn plan(&mut self, change: PlanningChange, at: Timestamp) -> bool {
        let planning = Some(change.apply(self.planning.clone()));
        if self.planning == planning {
            return false;
        }
        self.planning = planning;
        self.updated_at = at;
        true
    }
}

/// Whether a task is planned, as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum TaskType {
    DescriptionOnly,
    Planned,
}

impl Serialize for Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut task = serializer.serialize_struct("Task", 32)?;
        let task_type = if self.planning.is_some() {
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
        }) = &self.planning
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
        task.end()
    }
}

/// A unit of work, as it is written.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "a task")]
#[schema(as = Task)]
pub(crate) struct TaskWire {
    /// Whether it has planning fields.
    task_type: TaskType,
    /// Its id.
    id: TaskId,
    /// What is to be done.
    description: Text,
    /// What it is about, in short; absent unless it is planned.
    #[schema(nullable = false)]
    summary: Option<Text>,
    /// What must be there; absent unless it is planned.
    #[schema(nullable = false)]
    requirements: Option<Vec<Text>>,
    /// How one sees that it is done; absent unless it is planned.
    #[schema(nullable = false)]
    acceptance_criteria: Option<Vec<Text>>,
    /// The steps; absent unless it is planned.
    #[schema(nullable = false)]
    plan: Option<Vec<Text>>,
    /// Where it stands.
    status: Status,
    /// When it was made.
    created_at: Timestamp,
    /// When it last changed.
    updated_at: Timestamp,
    /// The session that it belongs to.
    #[schema(required)]
    session_id: Option<Text>,
    /// Where it came from.
    source: Source,
    /// The working directory of its agents.
    agent_workspace: Text,
    /// Its files.
    attachments: Vec<Attachment>,
    /// Who works on it now.
    #[schema(required)]
    current_agent: Option<AgentName>,
    /// Who worked on it, in order. Only the last entry can be open.
    #[schema(value_type = Vec<ChainEntryWire>)]
    agent_chain: Vec<ChainEntry>,
    /// The task from which it was handed on.
    #[schema(required)]
    parent_id: Option<TaskId>,
    /// The first task of the chain that it belongs to; null for the first itself.
    #[schema(required)]
    master_task_id: Option<TaskId>,
    /// What came with the hand-offs to it, by name.
    #[serde(default)]
    #[schema(required, value_type = Object)]
    context: Context,
    /// Who is to work on it: the router gives it to an agent with this role.
    #[schema(required)]
    agent_role: Option<Role>,
    /// What its agent should be good at.
    #[serde(default, deserialize_with = "distinct")]
    #[schema(required)]
    specialist_tags: Vec<Skill>,
    /// How many minutes it will take, as somebody thinks.
    #[schema(required)]
    estimated_duration: Option<Minutes>,
    /// How urgent it is.
    #[serde(default)]
    #[schema(required)]
    priority: TaskPriority,
    /// What comes first. The task is ready when it is pending and all of these have ended as they must.
    #[serde(default)]
    #[schema(required)]
    depends_on: Vec<Dependency>,
    /// What was done before, for whoever works on it.
    #[serde(default)]
    #[schema(required, value_type = Object)]
    agent_context: Map<String, Value>,
    /// What whoever works on it is to do.
    #[serde(default)]
    #[schema(required, value_type = Object)]
    handoff_instructions: Map<String, Value>,
    /// The increment that it is a part of.
    #[schema(required)]
    increment_id: Option<IncrementId>,
    /// Which part that is.
    #[schema(required)]
    stage: Option<Stage>,
    /// The round of the increment that it belongs to.
    #[schema(required)]
    round: Option<u32>,
    /// How often the router has given it to an agent.
    #[serde(default)]
    #[schema(required)]
    route_attempts: u32,
    /// Why the router does not go on with it.
    #[schema(required)]
    waiting_reason: Option<Text>,
    /// Whether a person must look before it goes on.
    #[serde(default)]
    #[schema(required)]
    blocked: bool,
}

/// Says why a task contradicts itself.
#[derive(Debug, thiserror::Error)]
pub enum ContradictoryTask {
    /// The planning fields do not fit the type.
    #[error(
        "a task of type `planned` has `summary`, `requirements`, `acceptanceCriteria` and `plan`; one of type `descriptionOnly` has none of them"
    )]
    Planning,
    /// The current agent is not the one of the open hand-off.
    #[error(
        "`currentAgent` must be the agent of the open entry of `agentChain`, and null if none is open"
    )]
    CurrentAgent,
    /// Only the last entry can be open.
    #[error("only the last entry of `agentChain` can be without `completedAt`")]
    OpenInTheMiddle,
    /// It is half a part of an increment.
    #[error("`incrementId`, `stage` and `round` (1 or more) are all there or none is")]
    HalfAPart,
    /// It is blocked for no reason.
    #[error("a task that is `blocked` has a `waitingReason`")]
    BlockedForNoReason,
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
            _ => return Err(ContradictoryTask::HalfAPart),
        };
        if wire.blocked && wire.waiting_reason.is_none() {
            return Err(ContradictoryTask::BlockedForNoReason);
        }
        let task = Self {
            id: wire.id,
            description: wire.description,
            planning,
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
            task.planning = planning;
            task.status = status;
            task.updated_at = Timestamp::from_millis(updated_at);
            task.attachments = attachments;
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
            prop_assert_eq!(planned.planning.as_ref(), Some(&planning));
            planned.planning = task.planning.clone();
            prop_assert_eq!(planned, task);
        }

        /// The chain only grows, an ended entry never changes, and at most the last one is open.
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
    fn a_second_completion_is_refused_and_says_so() {
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
    fn a_task_that_contradicts_itself_is_refused() {
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
            spoiled(|json| json["taskType"] = "planned".into()).contains("`planned` has `summary`")
        );
        assert!(
            spoiled(|json| json["plan"] = serde_json::json!([]))
                .contains("`descriptionOnly` has none")
        );
        let twice_open = spoiled(|json| {
            let entry = json["agentChain"][0].clone();
            json["agentChain"].as_array_mut().unwrap().push(entry);
        });
        assert!(twice_open.contains("only the last entry"), "{twice_open}");
    }
}
