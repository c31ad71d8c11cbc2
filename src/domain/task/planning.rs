//! Planning: the fields of a planned task.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::Text;

/// The plan of a planned task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planning {
    /// What it is about, in short.
    pub summary: Text,
    /// What must be there.
    pub requirements: Vec<Text>,
    /// How one sees that it is done.
    pub acceptance_criteria: Vec<Text>,
    /// The steps.
    pub plan: Vec<Text>,
}

/// The planning fields to set; those that are not given keep their value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "summary": "A parser", "plan": ["Lexer", "Grammar"] }))]
pub struct PlanningChange {
    /// What it is about, in short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text>,
    /// What must be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirements: Option<Vec<Text>>,
    /// How one sees that it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<Vec<Text>>,
    /// The steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Vec<Text>>,
}

impl PlanningChange {
    /// Tells whether no field is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the plan with the given fields replaced.
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
