//! Hand-off tools: how an agent passes control to another one.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::text::checked_string::checked_string;
use super::text::wire_enum::wire_enum;
use super::{AgentName, Context, Problems, Text};

/// The longest name of a tool or a variable: what models' interfaces accept.
const MAX_NAME: usize = 64;

/// How many variables a tool may have.
const MAX_VARIABLES: usize = 100;

/// How many bytes a description may have. Every agent that may use the tool is told it.
const MAX_DESCRIPTION: usize = 4 * 1024;

/// How many bytes the instructions may have.
const MAX_INSTRUCTIONS: usize = 32 * 1024;

/// How deep an argument may be nested: what every reader of JSON can read, also with more around it.
const DEEPEST: usize = 32;

/// Tells whether a value has at most so many lists and objects in each other.
fn is_as_deep_as(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| is_as_deep_as(item, depth - 1)),
        Value::Object(items) => {
            depth > 0 && items.values().all(|item| is_as_deep_as(item, depth - 1))
        }
        _ => true,
    }
}

/// The name of a tool: `[a-z][a-z0-9_]*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, pattern = "^[a-z][a-z0-9_]*$", max_length = 64, example = "handoff_to_sdr")]
pub struct ToolName(String);

/// Says why a string cannot be the name of a tool or of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalToolName {
    /// It begins as only Chorus's own keys do.
    #[error("must not begin with `_handoff`, which is reserved for Chorus itself")]
    Reserved,
    /// It has no characters.
    #[error("must not be empty")]
    Empty,
    /// It has too many characters.
    #[error("must not be longer than {MAX_NAME} characters")]
    TooLong,
    /// A tool's name has a character that it may not have.
    #[error("must begin with a small letter and have only small letters, digits and `_`")]
    Tool,
    /// A variable's name has a character that it may not have.
    #[error("must begin with a letter or `_` and have only letters, digits and `_`")]
    Variable,
}

impl ToolName {
    /// Reads a name, if it has the legal form.
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

/// Checks the name of a context variable.
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

/// A value that a tool passes to its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "a context variable")]
pub struct ContextVariable {
    /// Its name: letters, digits and `_`.
    #[schema(value_type = String, example = "lead_id")]
    pub name: Text,
    /// What kind of value it takes.
    #[serde(rename = "type")]
    pub variable_type: VariableType,
    /// Whether a call must give it.
    #[serde(default)]
    #[schema(required)]
    pub required: bool,
    /// What it is, for whoever calls.
    #[serde(default)]
    #[schema(required, value_type = String)]
    pub description: Text,
}

/// A hand-off tool that a user defined.
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
    /// Its name.
    pub name: ToolName,
    /// When to use it.
    pub description: Text,
    /// Who goes on.
    pub target_agent: AgentName,
    /// What is passed on.
    #[serde(default)]
    #[schema(required)]
    pub context_variables: Vec<ContextVariable>,
    /// What the target is told.
    #[serde(default)]
    #[schema(required, value_type = String)]
    pub handoff_instructions: Text,
    /// Who may use it; null stands for all agents but the target.
    #[serde(default)]
    #[schema(required)]
    pub allowed_agents: Option<Vec<AgentName>>,
}

impl Tool {
    /// Finds what is wrong with a tool, beside whether its agents are there.
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
                format!("must not be more than {MAX_VARIABLES}"),
            );
        }
        let mut seen = HashSet::new();
        for (place, variable) in self.context_variables.iter().enumerate() {
            let field = format!("contextVariables[{place}].name");
            if let Err(error) = check_variable_name(variable.name.as_str()) {
                problems.add(field, format!("{:?} {error}", variable.name.as_str()));
            } else if !seen.insert(variable.name.as_str()) {
                problems.add(field, format!("{:?} stands twice", variable.name.as_str()));
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
                "must name an agent; leave it out to allow all but the target",
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
        problems.none_or(|| ())
    }

    /// Tells whether an agent may use it.
    pub fn may_be_used_by(&self, agent: &AgentName) -> bool {
        *agent != self.target_agent
            && self
                .allowed_agents
                .as_ref()
                .is_none_or(|allowed| allowed.contains(agent))
    }

    /// Checks the arguments of a call: all errors at once, by name. What is optional may be null, and is then left out.
    pub fn check_arguments(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<Map<String, Value>, Problems> {
        let mut problems = Problems::default();
        let mut accepted = Map::new();
        for variable in &self.context_variables {
            let name = variable.name.as_str();
            let given = arguments
                .get(name)
                .and_then(|value| Some((VariableType::of(value)?, value)));
            match given {
                None if variable.required => problems.add(
                    name,
                    format!("is required ({})", variable.variable_type.as_str()),
                ),
                None => {}
                Some((_, value)) if !is_as_deep_as(value, DEEPEST) => {
                    problems.add(name, format!("must not be nested deeper than {DEEPEST}"));
                }
                Some((given, value)) if given == variable.variable_type => {
                    accepted.insert(name.to_owned(), value.clone());
                }
                Some((given, _)) => problems.add(
                    name,
                    format!(
                        "must be {}, not {}",
                        variable.variable_type.with_article(),
                        given.with_article()
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
        problems.none_or(|| accepted)
    }

    /// Returns what a model sees of it.
    pub fn definition(&self) -> FunctionDefinition {
        let property = |variable: &ContextVariable| {
            let mut schema = Map::new();
            schema.insert("type".into(), variable.variable_type.as_str().into());
            if variable.variable_type == VariableType::Array {
                // Models' interfaces refuse a list of which they do not know what it has.
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

/// A tool, as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FunctionDefinition {
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: FunctionKind,
    /// The function.
    pub function: Function,
}

/// The one kind of definition.
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
    /// What it takes.
    pub parameters: Parameters,
}

/// What a function takes: a JSON Schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Parameters {
    /// Always `object`.
    #[serde(rename = "type")]
    pub kind: VariableType,
    /// The variables, in the order of their definition.
    #[schema(value_type = Object)]
    pub properties: Map<String, Value>,
    /// The names of those that must be given.
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
    fn names_have_one_form() {
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
    fn everything_that_is_wrong_with_a_tool_is_said_at_once() {
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
            text.contains("\"a\" stands twice") && text.contains("reserved"),
            "{text}"
        );
    }

    #[test]
    fn arguments_are_checked_by_name_and_all_at_once() {
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
    fn a_model_sees_the_variables_in_their_order() {
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
