//! Planning: the fields of a planned task.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::Text;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planning {
    pub summary: Text,
    pub requirements: Vec<Text>,
    pub acceptance_criteria: Vec<Text>,
    pub plan: Vec<Text>,
}

/// A partial update of the planning fields. Absent fields keep their value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(min_properties = 1, example = json!({ "summary": "A parser", "plan": ["Lexer", "Grammar"] }))]
pub struct PlanningChange {
    /// A summary of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text>,
    /// The requirements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirements: Option<Vec<Text>>,
    /// The criteria by which the task counts as done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<Vec<Text>>,
    /// The steps of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Vec<Text>>,
}

impl PlanningChange {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
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
