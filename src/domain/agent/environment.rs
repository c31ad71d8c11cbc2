//! The environment variables of an agent's configuration. Their values may be secrets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::Text;

/// Names with values. A value is `None` where its reader may not see it, and in the ledger while nobody has given one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Environment(pub BTreeMap<Text, Option<Text>>);

impl Environment {
    /// Lists the variables that have a value.
    pub fn values(&self) -> impl Iterator<Item = (&Text, &Text)> {
        let variables = self.0.iter();
        variables.filter_map(|(name, value)| Some((name, value.as_ref()?)))
    }

    /// Fills in values from another environment.
    #[must_use]
    pub fn with_values_of(mut self, before: &Self) -> Self {
        for (name, value) in &mut self.0 {
            if value.is_none() {
                *value = before.0.get(name).cloned().flatten();
            }
        }
        self
    }
}

impl FromIterator<(Text, Text)> for Environment {
    fn from_iter<I: IntoIterator<Item = (Text, Text)>>(variables: I) -> Self {
        let variables = variables.into_iter();
        Self(variables.map(|(name, value)| (name, Some(value))).collect())
    }
}
