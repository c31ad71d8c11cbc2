//! Hiding and keeping the values of an agent's environment variables.

use std::collections::BTreeSet;

use super::agent::Agent;
use crate::domain::Text;

impl Agent {
    /// Removes the values of all variables.
    #[must_use]
    pub fn without_values(self) -> Self {
        self.with_values_named(&BTreeSet::new())
    }

    /// Removes the values of all variables but these.
    #[must_use]
    pub fn with_values_named(mut self, names: &BTreeSet<String>) -> Self {
        for (name, value) in &mut self.environment.0 {
            if !names.contains(name.as_str()) {
                *value = None;
            }
        }
        self
    }

    /// Fills in the values of variables from another configuration of the agent.
    #[must_use]
    pub fn with_values_of(mut self, before: &Self) -> Self {
        self.environment = self.environment.with_values_of(&before.environment);
        self
    }

    pub fn variables_without_value(&self) -> impl Iterator<Item = &Text> {
        let variables = self.environment.0.iter();
        variables.filter_map(|(name, value)| value.is_none().then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::change::AgentChange;
    use super::*;

    fn agent(environment: &serde_json::Value) -> Agent {
        let change: AgentChange =
            serde_json::from_value(json!({ "environment": environment })).unwrap();
        change.into_new("mine".parse().unwrap())
    }

    #[test]
    fn a_hidden_value_that_comes_back_changes_nothing() {
        let stored = agent(&json!({ "KEY": "secret", "LANG": "C" }));
        let shown = stored.clone().without_values();
        assert_eq!(
            serde_json::to_value(&shown.environment).unwrap(),
            json!({ "KEY": null, "LANG": null })
        );
        assert_eq!(shown.clone().with_values_of(&stored), stored);
        let change: AgentChange =
            serde_json::from_value(json!({ "environment": { "KEY": null, "NEW": "x" } })).unwrap();
        let changed = change.apply_to(stored.clone());
        assert_eq!(changed, agent(&json!({ "KEY": "secret", "NEW": "x" })));
        let named = BTreeSet::from(["LANG".to_owned()]);
        let named = stored.with_values_named(&named);
        assert_eq!(named, agent(&json!({ "KEY": null, "LANG": "C" })));
        let unset: Vec<_> = named.variables_without_value().map(Text::as_str).collect();
        assert_eq!(unset, ["KEY"]);
    }
}
