//! Context: variables that a task carries in addition to its description.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Variables that accumulate over hand-offs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Context(pub Map<String, Value>);

/// The keys changed by a merge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merge {
    pub added: Vec<String>,
    pub replaced: Vec<String>,
}

/// The origin of control, stored under reserved keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffMetadata {
    /// `None` if no agent handed off.
    pub from: Option<String>,
    pub tool: String,
    /// The instructions of the tool for the target.
    pub instructions: String,
    /// All agents so far, in order.
    pub chain: Vec<String>,
}

impl Context {
    /// The prefix of the keys that only Chorus writes.
    pub const RESERVED: &'static str = "_handoff";

    pub const INSTRUCTIONS: &'static str = "_handoff_instructions";

    /// Merges variables and metadata into the context; later values win. Nested objects are replaced, not merged.
    #[must_use]
    pub fn merged(&self, variables: &Map<String, Value>, metadata: HandoffMetadata) -> Self {
        let metadata = [
            ("_handoff_from", metadata.from.into()),
            ("_handoff_tool", metadata.tool.into()),
            (Self::INSTRUCTIONS, metadata.instructions.into()),
            ("_handoff_chain", metadata.chain.into()),
        ]
        .map(|(key, value): (&str, Value)| (key.to_owned(), value));
        let mut merged = self.0.clone();
        merged.extend(variables.clone());
        merged.extend(metadata);
        Self(merged)
    }

    /// Removes the metadata, which is meant for the target of one hand-off only.
    #[must_use]
    pub fn without_metadata(&self) -> Self {
        let kept = self
            .0
            .iter()
            .filter(|(key, _)| !key.starts_with(Self::RESERVED));
        Self(
            kept.map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        )
    }

    /// Lists the keys that were added or replaced since `before`.
    pub fn changes_since(&self, before: &Self) -> Merge {
        let mut merge = Merge::default();
        for (key, value) in &self.0 {
            match before.0.get(key) {
                None => merge.added.push(key.clone()),
                Some(old) if old != value => merge.replaced.push(key.clone()),
                Some(_) => {}
            }
        }
        merge
    }

    /// Returns the instructions of the tool for the target.
    pub fn instructions(&self) -> Option<&str> {
        self.0.get(Self::INSTRUCTIONS)?.as_str()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn context(value: Value) -> Context {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn later_values_win_on_the_first_level_only() {
        let before = context(json!({ "kept": 1, "lead": { "id": 1, "name": "x" }, "same": true }));
        let variables = context(json!({ "lead": { "id": 2 }, "new": null, "same": true })).0;
        let after = before.merged(
            &variables,
            HandoffMetadata {
                from: Some("a".into()),
                tool: "handoff_to_b".into(),
                instructions: "Call back.".into(),
                chain: vec!["a".into()],
            },
        );
        assert_eq!(
            serde_json::to_value(&after).unwrap(),
            json!({
                "kept": 1, "lead": { "id": 2 }, "same": true, "new": null,
                "_handoff_from": "a", "_handoff_tool": "handoff_to_b",
                "_handoff_instructions": "Call back.", "_handoff_chain": ["a"],
            })
        );
        assert_eq!(
            serde_json::to_value(after.without_metadata()).unwrap(),
            json!({ "kept": 1, "lead": { "id": 2 }, "same": true, "new": null })
        );
        let Merge { added, replaced } = after.changes_since(&before);
        assert_eq!(replaced, ["lead"]);
        assert_eq!(
            added,
            [
                "new",
                "_handoff_from",
                "_handoff_tool",
                "_handoff_instructions",
                "_handoff_chain"
            ]
        );
    }
}
