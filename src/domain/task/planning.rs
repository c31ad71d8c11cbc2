//! Planning: the fields of a planned task.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{Problems, TaskId, Text};

/// The limit of requirements, of criteria and of steps, each.
const MOST_ENTRIES: usize = 1000;

/// The limit of all texts of one change, in bytes.
const LARGEST_PLANNING: usize = 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planning {
    pub summary: Text,
    pub requirements: Vec<Text>,
    pub acceptance_criteria: Vec<Text>,
    pub plan: Vec<Text>,
}

/// The plan of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskPlan {
    /// Only a planned task has one.
    pub planning: Option<Planning>,
    /// `None` if the plan is the task's own.
    pub shared: Option<SharedPlan>,
}

/// A plan that several tasks share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedPlan {
    /// The task that holds the plan.
    pub task_id: TaskId,
}

/// A partial update of the planning fields. Absent fields keep their value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(min_properties = 1, example = json!({ "summary": "A parser", "plan": ["Lexer", "Grammar"] }))]
pub struct PlanningChange {
    /// A summary of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 1_048_576)]
    pub summary: Option<Text>,
    /// The requirements.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 1000)]
    pub requirements: Option<Vec<Text>>,
    /// The criteria by which the task counts as done.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 1000)]
    pub acceptance_criteria: Option<Vec<Text>>,
    /// The steps of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 1000)]
    pub plan: Option<Vec<Text>>,
}

impl PlanningChange {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the number of entries, and the size of all texts together.
    pub fn check(&self) -> Result<(), Problems> {
        let mut problems = Problems::default();
        let lists = [
            ("requirements", &self.requirements),
            ("acceptanceCriteria", &self.acceptance_criteria),
            ("plan", &self.plan),
        ];
        let mut bytes = self.summary.as_ref().map_or(0, |text| text.as_str().len());
        for (field, list) in lists {
            let list = list.as_deref().unwrap_or_default();
            if list.len() > MOST_ENTRIES {
                problems.add(field, format!("must have at most {MOST_ENTRIES} entries"));
            }
            bytes += list.iter().map(|text| text.as_str().len()).sum::<usize>();
        }
        if bytes > LARGEST_PLANNING {
            problems.add(
                "planning",
                format!("all texts together must have at most {LARGEST_PLANNING} bytes"),
            );
        }
        problems.into_result(|| ())
    }

    #[must_use]
    pub fn apply(self, before: Option<Planning>) -> Planning {
        let before = before.unwrap_or_default();
        Planning {
            summary: self.summary.unwrap_or(before.summary),
            requirements: self.requirements.unwrap_or(before.requirements),
            acceptance_criteria: self
                .acceptance_criteria
                .unwrap_or(before.acceptance_criteria),
            plan: self.plan.unwrap_or(before.plan),
        }
    }
}
