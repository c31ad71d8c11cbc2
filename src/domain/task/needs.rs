//! Needs of a task: role, skills, time, priority, dependencies and context.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::dependency::{Dependency, DependencyForm};
use super::priority::TaskPriority;
use crate::domain::text::field::{present, present_distinct};
use crate::domain::{Minutes, Problems, Role, Skill, Text, agent_context};

const MOST_DEPENDENCIES: usize = 100;

/// The requirements and the context of the work on a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Needs {
    /// The router assigns the task to an agent with this role.
    pub agent_role: Option<Role>,
    pub specialist_tags: Vec<Skill>,
    pub estimated_duration: Option<Minutes>,
    pub priority: TaskPriority,
    pub depends_on: Vec<Dependency>,
    /// Information from earlier agents.
    pub agent_context: Map<String, Value>,
    /// Instructions for the next agent.
    pub handoff_instructions: Map<String, Value>,
}

/// A partial update of the needs of a task, and of its workspace. Absent fields keep their value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(min_properties = 1, example = json!({ "agentRole": "testing", "specialistTags": ["python"], "estimatedDuration": 30 }))]
pub struct NeedsChange {
    /// The role of the agent; null for none. The router ignores tasks without a role.
    #[serde(
        default,
        alias = "agent_role",
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<Role>)]
    pub agent_role: Option<Option<Role>>,
    /// The wanted skills; an agent qualifies with at least one of them.
    #[serde(
        default,
        alias = "specialist_tags",
        deserialize_with = "present_distinct",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(nullable = false, max_items = 50)]
    pub specialist_tags: Option<Vec<Skill>>,
    /// The estimated duration in minutes.
    #[serde(
        default,
        alias = "estimated_duration",
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<Minutes>)]
    pub estimated_duration: Option<Option<Minutes>>,
    /// The urgency of the task.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(nullable = false)]
    pub priority: Option<TaskPriority>,
    /// The dependencies: task ids, or objects with `taskId` and `outcome`.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(nullable = false, value_type = Option<Vec<DependencyForm>>, max_items = 100)]
    pub depends_on: Option<Vec<Dependency>>,
    /// Information from earlier agents: `previousAgent`, `workCompleted`, `filesModified`, `testStatus`, `knownIssues`,
    /// `attempts` and free keys. Documented keys may also be written in `snake_case`.
    #[serde(
        default,
        alias = "agent_context",
        deserialize_with = "agent_context::present_in_either_spelling",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(nullable = false, value_type = Option<Object>)]
    pub agent_context: Option<Map<String, Value>>,
    /// Instructions for the next agent: `nextRole`, `testCommand`, `expectedDuration`, `notes` and free keys. Documented keys
    /// may also be written in `snake_case`.
    #[serde(
        default,
        alias = "handoff_instructions",
        deserialize_with = "agent_context::present_in_either_spelling",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(nullable = false, value_type = Option<Object>)]
    pub handoff_instructions: Option<Map<String, Value>>,
    /// The absolute path of the agents' working directory. It cannot be changed while an agent is active, or by a run.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(nullable = false, value_type = Option<String>, pattern = "^/[^\\x00]*$")]
    pub agent_workspace: Option<Text>,
}

impl NeedsChange {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Validates the change. With `merge`, null removes any key, so it is valid everywhere.
    pub fn check(&self, largest_object: usize, merge: bool) -> Result<(), Problems> {
        self.clone()
            .apply(&Needs::default(), merge)
            .check(largest_object)
    }

    /// Applies the change. Objects replace the old ones, or with `merge` are merged into them; null then removes a key.
    #[must_use]
    pub fn apply(self, needs: &Needs, merge: bool) -> Needs {
        let object = |before: &Map<String, Value>, change: Option<Map<String, Value>>| match change
        {
            None => before.clone(),
            Some(change) if merge => merged(before, change),
            Some(change) => change,
        };
        Needs {
            agent_role: self.agent_role.unwrap_or_else(|| needs.agent_role.clone()),
            specialist_tags: self
                .specialist_tags
                .unwrap_or_else(|| needs.specialist_tags.clone()),
            estimated_duration: self.estimated_duration.unwrap_or(needs.estimated_duration),
            priority: self.priority.unwrap_or(needs.priority),
            depends_on: self.depends_on.unwrap_or_else(|| needs.depends_on.clone()),
            agent_context: object(&needs.agent_context, self.agent_context),
            handoff_instructions: object(&needs.handoff_instructions, self.handoff_instructions),
        }
    }
}

/// Merges the first level only; null removes a key.
fn merged(before: &Map<String, Value>, change: Map<String, Value>) -> Map<String, Value> {
    let mut after = before.clone();
    for (key, value) in change {
        // An older object may have the key in its other spelling.
        if let Some(other) = agent_context::other_spelling(&key) {
            after.shift_remove(&other);
        }
        if value.is_null() {
            after.shift_remove(&key);
        } else {
            after.insert(key, value);
        }
    }
    after
}

impl Needs {
    pub fn check(&self, largest_object: usize) -> Result<(), Problems> {
        let mut problems = Problems::default();
        agent_context::check_context(&self.agent_context, largest_object, &mut problems);
        agent_context::check_instructions(
            &self.handoff_instructions,
            largest_object,
            &mut problems,
        );
        let waits_for = &self.depends_on;
        if waits_for.len() > MOST_DEPENDENCIES {
            problems.add(
                "dependsOn",
                format!("must name at most {MOST_DEPENDENCIES} tasks"),
            );
            return Err(problems);
        }
        for (place, dependency) in waits_for.iter().enumerate() {
            let is_named_before = waits_for[..place]
                .iter()
                .any(|earlier| earlier.task_id == dependency.task_id);
            if is_named_before {
                problems.add(
                    "dependsOn",
                    format!("names the task {} twice", dependency.task_id),
                );
                break;
            }
        }
        problems.into_result(|| ())
    }

    /// Checks only the sizes of the objects.
    pub fn check_sizes(&self, largest_object: usize) -> Result<(), Problems> {
        let mut problems = Problems::default();
        for (name, object) in [
            ("agentContext", &self.agent_context),
            ("handoffInstructions", &self.handoff_instructions),
        ] {
            if agent_context::size(object) > largest_object {
                problems.add(
                    name,
                    format!("must not be larger than {largest_object} bytes"),
                );
            }
        }
        problems.into_result(|| ())
    }

    /// Lists the fields that differ.
    pub fn changed_since(&self, before: &Self) -> Vec<&'static str> {
        [
            ("agentRole", self.agent_role != before.agent_role),
            (
                "specialistTags",
                self.specialist_tags != before.specialist_tags,
            ),
            (
                "estimatedDuration",
                self.estimated_duration != before.estimated_duration,
            ),
            ("priority", self.priority != before.priority),
            ("dependsOn", self.depends_on != before.depends_on),
            ("agentContext", self.agent_context != before.agent_context),
            (
                "handoffInstructions",
                self.handoff_instructions != before.handoff_instructions,
            ),
        ]
        .into_iter()
        .filter_map(|(name, has_changed)| has_changed.then_some(name))
        .collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::dependency::DependencyOutcome;
    use super::super::id::TaskId;
    use super::*;

    prop_compose! {
        /// Generates any valid needs.
        pub fn any_needs()(
            role in proptest::option::of("[a-z][a-z0-9-]{0,10}"),
            tags in proptest::collection::btree_set("[a-z+#]{1,6}", 0..4),
            minutes in proptest::option::of(1..500_000_u32),
            priority in 0..5_u32,
            depends_on in proptest::collection::btree_set("[a-z0-9]{1,8}", 0..3),
            outcome in 0..3_usize,
            notes in proptest::option::of("[^\\p{C}]{0,10}"),
        ) -> Needs {
            Needs {
                agent_role: role.map(|role| Role::parse(role).unwrap()),
                specialist_tags: tags.iter().map(|tag| Skill::parse(tag).unwrap()).collect(),
                estimated_duration: minutes.map(|minutes| Minutes::new(minutes).unwrap()),
                priority: TaskPriority::new(priority).unwrap(),
                depends_on: depends_on.into_iter().map(|id| Dependency {
                    task_id: TaskId::parse(id).unwrap(),
                    outcome: DependencyOutcome::ALL[outcome],
                }).collect(),
                agent_context: notes.iter().map(|notes| ("workCompleted".to_owned(), json!(notes))).collect(),
                handoff_instructions: notes.iter().map(|notes| ("notes".to_owned(), json!(notes))).collect(),
            }
        }
    }

    fn change(json: Value) -> Result<NeedsChange, serde_json::Error> {
        serde_json::from_value(json)
    }

    #[test]
    fn absent_fields_stay_and_null_clears() {
        let before = change(json!({
            "agentRole": "testing", "specialistTags": ["Python", "python", "mcp"], "estimatedDuration": 30,
            "priority": "P1", "dependsOn": ["a", { "taskId": "b", "outcome": "failed" }],
        }))
        .unwrap()
        .apply(&Needs::default(), false);
        assert_eq!(
            change(json!({})).unwrap().apply(&before, false),
            before,
            "an empty change changes nothing"
        );
        let after = change(json!({ "agentRole": null, "estimatedDuration": null, "priority": 0 }))
            .unwrap()
            .apply(&before, false);
        assert_eq!(
            after.changed_since(&before),
            ["agentRole", "estimatedDuration", "priority"]
        );
        assert_eq!(after.specialist_tags.len(), 2);
        assert_eq!(after.depends_on[0].outcome, DependencyOutcome::Completed);
        assert_eq!(after.depends_on[1].outcome, DependencyOutcome::Failed);
    }

    #[test]
    fn objects_replace_or_merge() {
        let before = change(json!({ "agentContext": { "a": 1, "b": { "x": 1 }, "c": 3 } }))
            .unwrap()
            .apply(&Needs::default(), false);
        let patch = json!({ "agentContext": { "b": { "y": 2 }, "c": null, "d": 4 } });
        let merged = change(patch.clone()).unwrap().apply(&before, true);
        assert_eq!(
            Value::Object(merged.agent_context),
            json!({ "a": 1, "b": { "y": 2 }, "d": 4 })
        );
        let replaced = change(patch.clone()).unwrap().apply(&before, false);
        assert_eq!(
            Value::Object(replaced.agent_context),
            patch["agentContext"].clone()
        );
    }

    #[test]
    fn invalid_needs_are_refused() {
        for json in [
            json!({ "agentRole": "Testing" }),
            json!({ "specialistTags": null }),
            json!({ "specialistTags": ["a b"] }),
            json!({ "estimatedDuration": 0 }),
            json!({ "priority": 5 }),
            json!({ "priority": "urgent" }),
            json!({ "priority": null }),
            json!({ "dependsOn": [{ "taskId": "a", "outcome": "maybe" }] }),
            json!({ "dependsOn": ["../a"] }),
            json!({ "agentContext": [] }),
            json!({ "more": 1 }),
        ] {
            assert!(change(json.clone()).is_err(), "{json}");
        }
        let twice = change(json!({ "dependsOn": ["a", "a"] })).unwrap();
        assert!(twice.check(100, false).is_err());
        let many: Vec<_> = (0..=MOST_DEPENDENCIES).map(|n| n.to_string()).collect();
        let many = change(json!({ "dependsOn": many })).unwrap();
        assert!(many.check(100, false).is_err());
    }
}
