//! Hand-off tools: functions that an agent calls to pass control to another agent.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::text::checked_string::checked_string;
use super::text::wire_enum::wire_enum;
use super::{AgentName, Context, Problems, Text};

/// The longest name that model APIs accept.
const MAX_NAME: usize = 64;

const MAX_VARIABLES: usize = 100;

/// The longest description in bytes. It is part of the prompt of every agent that may use the tool.
const MAX_DESCRIPTION: usize = 4 * 1024;

const MAX_INSTRUCTIONS: usize = 32 * 1024;

/// The nesting limit of an argument. Every JSON parser can read it, even inside a larger document.
const DEEPEST: usize = 32;

/// Checks that a value has at most `depth` nested arrays and objects.
fn fits_depth(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| fits_depth(item, depth - 1)),
        Value::Object(items) => depth > 0 && items.values().all(|item| fits_depth(item, depth - 1)),
        _ => true,
    }
}

/// The name of a tool: `[a-z][a-z0-9_]*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, pattern = "^[a-z][a-z0-9_]*$", max_length = 64, example = "handoff_to_sdr")]
pub struct ToolName(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalToolName {
    #[error("must not start with `_handoff`, which is reserved for Chorus")]
    Reserved,
    #[error("must not be empty")]
    Empty,
    #[error("must not be longer than {MAX_NAME} characters")]
    TooLong,
    #[error(
        "must start with a lowercase letter and contain only lowercase letters, digits and `_`"
    )]
    Tool,
    #[error("must start with a letter or `_` and contain only letters, digits and `_`")]
    Variable,
}

impl ToolName {
    pub fn parse(name: impl Into<String>) -> Result<Self, IllegalToolName> {
        let name = name.into();
        check_length(&name)?;
        let is_legal =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.bytes().all(is_legal) {
            return Err(IllegalToolName::Tool);
        }
        Ok(Self(name))
    }
}

fn check_length(name: &str) -> Result<(), IllegalToolName> {
    if name.starts_with(Context::RESERVED) {
        Err(IllegalToolName::Reserved)
    } else if name.is_empty() {
        Err(IllegalToolName::Empty)
    } else if name.len() > MAX_NAME {
        Err(IllegalToolName::TooLong)
    } else {
        Ok(())
    }
}

fn check_variable_name(name: &str) -> Result<(), IllegalToolName> {
    check_length(name)?;
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.starts_with(|c: char| c.is_ascii_digit()) || !name.bytes().all(is_legal) {
        return Err(IllegalToolName::Variable);
    }
    Ok(())
}

checked_string!(ToolName, IllegalToolName);

wire_enum! {
    /// The JSON type of a variable.
    pub enum VariableType {
        /// A string.
        String = "string",
        /// A number.
        Number = "number",
        /// True or false.
        Boolean = "boolean",
        /// An object.
        Object = "object",
        /// An array.
        Array = "array",
    }
}

impl VariableType {
    /// Returns the type of a value; null has none.
    pub const fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Null => None,
            Value::Bool(_) => Some(Self::Boolean),
            Value::Number(_) => Some(Self::Number),
            Value::String(_) => Some(Self::String),
            Value::Array(_) => Some(Self::Array),
            Value::Object(_) => Some(Self::Object),
        }
    }

    const fn with_article(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Object => "an object",
            Self::Array => "an array",
        }
    }
}

/// A variable that a tool passes to its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "a context variable")]
pub struct ContextVariable {
    /// The name: letters, digits and `_`.
    #[schema(value_type = String, min_length = 1, max_length = 64, pattern = "^[A-Za-z_][A-Za-z0-9_]*$", example = "lead_id")]
    pub name: Text,
    /// The JSON type of the value.
    #[serde(rename = "type")]
    pub variable_type: VariableType,
    /// Whether a call must include the variable.
    #[serde(default)]
    #[schema(required)]
    pub required: bool,
    /// A description for the agent that calls the tool.
    #[serde(default)]
    #[schema(required, value_type = String, max_length = 4096)]
    pub description: Text,
}

/// A configured hand-off tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "a tool")]
#[schema(example = json!({
    "name": "handoff_to_sdr",
    "description": "Hand off to sales. Use it when a qualified lead needs follow-up.",
    "targetAgent": "sdr",
    "contextVariables": [{ "name": "lead_id", "type": "string", "required": true, "description": "The lead" }],
    "handoffInstructions": "Answer within a day.",
    "allowedAgents": null
}))]
pub struct Tool {
    /// The name of the tool.
    pub name: ToolName,
    /// When an agent should use the tool.
    pub description: Text,
    /// The agent that gets control.
    pub target_agent: AgentName,
    /// The variables that a call passes to the target.
    #[serde(default)]
    #[schema(required)]
    pub context_variables: Vec<ContextVariable>,
    /// Instructions for the target.
    #[serde(default)]
    #[schema(required, value_type = String)]
    pub handoff_instructions: Text,
    /// The agents that may use the tool; null means all agents except the target.
    #[serde(default)]
    #[schema(required)]
    pub allowed_agents: Option<Vec<AgentName>>,
}

impl Tool {
    /// Validates the tool. The caller checks that its agents exist.
    pub fn check(&self) -> Result<(), Problems> {
        let mut problems = Problems::default();
        if self.description.is_blank() {
            problems.add("description", "must say when to use the tool");
        }
        if self.description.as_str().len() > MAX_DESCRIPTION {
            problems.add(
                "description",
                format!("must not be longer than {MAX_DESCRIPTION} bytes"),
            );
        }
        if self.handoff_instructions.as_str().len() > MAX_INSTRUCTIONS {
            problems.add(
                "handoffInstructions",
                format!("must not be longer than {MAX_INSTRUCTIONS} bytes"),
            );
        }
        if self.context_variables.len() > MAX_VARIABLES {
            problems.add(
                "contextVariables",
                format!("must have at most {MAX_VARIABLES} entries"),
            );
        }
        let mut seen = HashSet::new();
        for (place, variable) in self.context_variables.iter().enumerate() {
            let field = format!("contextVariables[{place}].name");
            if let Err(error) = check_variable_name(variable.name.as_str()) {
                problems.add(field, format!("{:?} {error}", variable.name.as_str()));
            } else if !seen.insert(variable.name.as_str()) {
                problems.add(
                    field,
                    format!("{:?} is listed twice", variable.name.as_str()),
                );
            }
            if variable.description.as_str().len() > MAX_DESCRIPTION {
                problems.add(
                    format!("contextVariables[{place}].description"),
                    format!("must not be longer than {MAX_DESCRIPTION} bytes"),
                );
            }
        }
        match &self.allowed_agents {
            Some(allowed) if allowed.is_empty() => problems.add(
                "allowedAgents",
                "must name at least one agent; omit it to allow all agents except the target",
            ),
            Some(allowed) if allowed.contains(&self.target_agent) => problems.add(
                "allowedAgents",
                format!(
                    "{} is the target, which cannot hand off to itself",
                    self.target_agent
                ),
            ),
            _ => {}
        }
        problems.into_result(|| ())
    }

    pub fn may_be_used_by(&self, agent: &AgentName) -> bool {
        *agent != self.target_agent
            && self
                .allowed_agents
                .as_ref()
                .is_none_or(|allowed| allowed.contains(agent))
    }

    /// Validates the arguments of a call and returns them without null values.
    pub fn check_arguments(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<Map<String, Value>, Problems> {
        let mut problems = Problems::default();
        let mut accepted = Map::new();
        for variable in &self.context_variables {
            let name = variable.name.as_str();
            let argument = arguments
                .get(name)
                .and_then(|value| Some((VariableType::of(value)?, value)));
            match argument {
                None if variable.required => problems.add(
                    name,
                    format!("is required ({})", variable.variable_type.as_str()),
                ),
                None => {}
                Some((_, value)) if !fits_depth(value, DEEPEST) => {
                    problems.add(
                        name,
                        format!("must not be nested deeper than {DEEPEST} levels"),
                    );
                }
                Some((actual, value)) if actual == variable.variable_type => {
                    accepted.insert(name.to_owned(), value.clone());
                }
                Some((actual, _)) => problems.add(
                    name,
                    format!(
                        "must be {}, not {}",
                        variable.variable_type.with_article(),
                        actual.with_article()
                    ),
                ),
            }
        }
        for name in arguments.keys() {
            if !self
                .context_variables
                .iter()
                .any(|variable| variable.name.as_str() == name)
            {
                let known = self.context_variables.iter();
                let known: Vec<_> = known.map(|variable| variable.name.as_str()).collect();
                problems.add(
                    name,
                    format!("is not a variable of {} ({})", self.name, known.join(", ")),
                );
            }
        }
        problems.into_result(|| accepted)
    }

    /// Returns the function definition for a model.
    pub fn definition(&self) -> FunctionDefinition {
        let property = |variable: &ContextVariable| {
            let mut schema = Map::new();
            schema.insert("type".into(), variable.variable_type.as_str().into());
            if variable.variable_type == VariableType::Array {
                // Model APIs reject an array schema without `items`.
                schema.insert("items".into(), Map::new().into());
            }
            schema.insert("description".into(), variable.description.as_str().into());
            (variable.name.as_str().to_owned(), schema.into())
        };
        FunctionDefinition {
            kind: FunctionKind::Function,
            function: Function {
                name: self.name.clone(),
                description: self.description.clone(),
                parameters: Parameters {
                    kind: VariableType::Object,
                    properties: self.context_variables.iter().map(property).collect(),
                    required: self
                        .context_variables
                        .iter()
                        .filter(|variable| variable.required)
                        .map(|variable| variable.name.clone())
                        .collect(),
                },
            },
        }
    }
}

/// A tool as a function definition for a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FunctionDefinition {
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: FunctionKind,
    /// The function.
    pub function: Function,
}

/// The only kind of definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FunctionKind {
    /// A function.
    Function,
}

/// A function that a model can call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Function {
    /// The name of the tool.
    pub name: ToolName,
    /// When to use it.
    pub description: Text,
    /// The parameters of the function.
    pub parameters: Parameters,
}

/// The parameters of a function, as a JSON Schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Parameters {
    /// Always `object`.
    #[serde(rename = "type")]
    pub kind: VariableType,
    /// The variables, in the order of their definition.
    #[schema(value_type = Object)]
    pub properties: Map<String, Value>,
    /// The names of the required variables.
    #[schema(value_type = Vec<String>)]
    pub required: Vec<Text>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(variables: &Value) -> Tool {
        serde_json::from_value(json!({
            "name": "handoff_to_sdr", "description": "When a lead is ready.", "targetAgent": "sdr",
            "contextVariables": variables,
        }))
        .unwrap()
    }

    #[test]
    fn tool_names_have_one_form() {
        for name in ["a", "handoff_to_sdr", "a1_", &"x".repeat(64)] {
            assert_eq!(ToolName::parse(name).unwrap().as_str(), name);
        }
        for (name, why) in [
            ("", IllegalToolName::Empty),
            ("_handoff_x", IllegalToolName::Reserved),
            ("_x", IllegalToolName::Tool),
            ("1x", IllegalToolName::Tool),
            ("Handoff", IllegalToolName::Tool),
            ("hand-off", IllegalToolName::Tool),
            ("a b", IllegalToolName::Tool),
            ("ä", IllegalToolName::Tool),
            ("a\n", IllegalToolName::Tool),
            ("a\"", IllegalToolName::Tool),
            (&"x".repeat(65), IllegalToolName::TooLong),
        ] {
            assert_eq!(ToolName::parse(name), Err(why), "{name:?}");
        }
    }

    #[test]
    fn all_problems_of_a_tool_are_reported_at_once() {
        let variable = |name: &str| json!({ "name": name, "type": "string" });
        let mut tool = tool(&json!([
            variable("a"),
            variable("a"),
            variable("_handoff_from"),
            variable("a b"),
            variable("")
        ]));
        tool.allowed_agents = Some(vec![tool.target_agent.clone()]);
        tool.description = Text::default();
        let problems = tool.check().unwrap_err();
        let fields: Vec<_> = problems
            .0
            .iter()
            .map(|problem| problem.field.as_str())
            .collect();
        assert_eq!(
            fields,
            [
                "description",
                "contextVariables[1].name",
                "contextVariables[2].name",
                "contextVariables[3].name",
                "contextVariables[4].name",
                "allowedAgents"
            ]
        );
        let text = problems.to_string();
        assert!(
            text.contains("\"a\" is listed twice") && text.contains("reserved"),
            "{text}"
        );
    }

    #[test]
    fn all_problems_of_arguments_are_reported_at_once() {
        let tool = tool(&json!([
            { "name": "lead", "type": "string", "required": true },
            { "name": "score", "type": "number", "required": true },
            { "name": "hot", "type": "boolean" },
            { "name": "tags", "type": "array" },
            { "name": "person", "type": "object" },
        ]));
        let check = |arguments: Value| tool.check_arguments(arguments.as_object().unwrap());
        let good = json!({ "lead": "l", "score": 1.5, "hot": false, "tags": [], "person": {} });
        assert_eq!(check(good.clone()).map(Value::from), Ok(good));
        assert_eq!(
            check(json!({ "lead": "", "score": 0, "hot": null })).map(Value::from),
            Ok(json!({ "lead": "", "score": 0 }))
        );
        assert_eq!(
            check(
                json!({ "score": "1", "hot": 1, "tags": {}, "person": [], "lead": null, "x\n": 1 })
            )
            .unwrap_err()
            .to_string(),
            "lead: is required (string); score: must be a number, not a string; hot: must be a boolean, not a number; \
             tags: must be an array, not an object; person: must be an object, not an array; \
             x\n: is not a variable of handoff_to_sdr (lead, score, hot, tags, person)"
        );
    }

    #[test]
    fn the_definition_keeps_the_order_of_variables() {
        let tool = tool(&json!([
            { "name": "z", "type": "string", "required": true, "description": "The last letter" },
            { "name": "a", "type": "array" },
        ]));
        assert_eq!(
            serde_json::to_string(&tool.definition()).unwrap(),
            r#"{"type":"function","function":{"name":"handoff_to_sdr","description":"When a lead is ready.","parameters":{"type":"object","properties":{"z":{"type":"string","description":"The last letter"},"a":{"type":"array","items":{},"description":""}},"required":["z"]}}}"#
        );
    }

    #[test]
    fn the_target_cannot_use_its_own_tool() {
        let mut tool = tool(&json!([]));
        let name = |name: &str| AgentName::parse(name).unwrap();
        assert!(tool.may_be_used_by(&name("a")) && !tool.may_be_used_by(&name("sdr")));
        tool.allowed_agents = Some(vec![name("a")]);
        assert!(tool.may_be_used_by(&name("a")) && !tool.may_be_used_by(&name("b")));
    }
}
