//! The OpenAPI document: tables to review every change of the surface, and the rules for names and words.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::TestApp;

/// The verbs that an operation id may begin with, by method.
const VERBS: [(&str, &[&str]); 5] = [
    (
        "get",
        &["list", "get", "count", "explain", "check", "stream"],
    ),
    (
        "post",
        &[
            "create",
            "acknowledge",
            "announce",
            "approve",
            "call",
            "cancel",
            "claim",
            "finish",
            "mark",
            "queue",
            "raise",
            "renew",
            "requeue",
            "resolve",
            "retry",
            "route",
            "send",
            "start",
            "submit",
        ],
    ),
    ("put", &["put", "set", "plan", "complete"]),
    ("patch", &["edit"]),
    ("delete", &["delete"]),
];

/// Operations that create what the id in the path names, and so never answer 404.
const CREATED_BY_ID: [&str; 2] = ["put_agent", "start_session_handoff"];

struct Operation {
    method: String,
    path: String,
    json: Value,
}

impl Operation {
    fn id(&self) -> &str {
        self.json["operationId"].as_str().unwrap_or_default()
    }

    fn name(&self) -> String {
        format!("{} {}", self.method.to_uppercase(), self.path)
    }

    fn statuses(&self) -> BTreeSet<String> {
        let responses = self.json["responses"].as_object().unwrap();
        responses.keys().cloned().collect()
    }

    fn parameters(&self, place: &str) -> Vec<&str> {
        let all = self.json["parameters"].as_array().into_iter().flatten();
        all.filter(|parameter| parameter["in"] == place)
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect()
    }
}

fn document() -> Value {
    serde_json::from_str(&chorus::api::openapi()).unwrap()
}

fn operations(document: &Value) -> Vec<Operation> {
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, item): (&String, &Value)| {
        let operations = item.as_object().unwrap().iter();
        let operations = operations.map(|(method, json)| Operation {
            method: method.clone(),
            path: path.clone(),
            json: json.clone(),
        });
        operations.collect::<Vec<_>>()
    };
    paths.iter().flat_map(of_path).collect()
}

/// Writes a schema as a TypeScript-like type.
fn type_name(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap().to_owned();
    }
    if let Some(values) = schema["enum"].as_array() {
        return join(values.iter().map(Value::to_string), " | ");
    }
    for (key, separator) in [("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")] {
        if let Some(choices) = schema[key].as_array() {
            return join(choices.iter().map(type_name), separator);
        }
    }
    let simple = |name: &str| match name {
        "array" => format!("{}[]", type_name(&schema["items"])),
        "object" if schema["properties"].is_object() => {
            format!("{{ {} }}", fields(schema).join(", "))
        }
        "object" if schema["additionalProperties"].is_object() => {
            format!("{{[key]: {}}}", type_name(&schema["additionalProperties"]))
        }
        name => name.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => simple(name),
        Value::Array(names) => join(
            names.iter().map(|name| simple(name.as_str().unwrap())),
            " | ",
        ),
        _ => "any".to_owned(),
    }
}

/// Writes the fields of an object; `?` marks a field that is not required.
fn fields(schema: &Value) -> Vec<String> {
    let required = schema["required"].as_array().into_iter().flatten();
    let required: Vec<_> = required.collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let field = |(name, field): (&String, &Value)| {
        let mark = if required.contains(&&Value::from(name.as_str())) {
            ""
        } else {
            "?"
        };
        format!("{name}{mark}: {}", type_name(field))
    };
    properties.map(field).collect()
}

fn join(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

/// Writes the type of a body, and its media type unless that is JSON.
fn body_name(content: &Value) -> String {
    let bodies = content.as_object().into_iter().flatten();
    let bodies = bodies.map(|(media_type, body)| match media_type.as_str() {
        "application/json" => type_name(&body["schema"]),
        other => other.to_owned(),
    });
    join(bodies, " or ")
}

#[test]
fn the_table_of_operations() {
    let mut table = String::new();
    for operation in operations(&document()) {
        let json = &operation.json;
        let request = match body_name(&json["requestBody"]["content"]) {
            name if name.is_empty() => String::new(),
            name => format!("{name} → "),
        };
        let responses = json["responses"].as_object().unwrap().iter();
        let (well, errors): (Vec<_>, Vec<_>) =
            responses.partition(|(status, _)| status.starts_with('2'));
        let well = well
            .into_iter()
            .map(|(status, response)| format!("{status} {}", body_name(&response["content"])));
        let errors = errors.into_iter().map(|(status, _)| status.clone());
        writeln!(
            table,
            "{:6} {:42} {} [{}]{}: {request}{}; {}",
            operation.method.to_uppercase(),
            operation.path,
            operation.id(),
            json["tags"][0].as_str().unwrap(),
            if json["deprecated"] == true {
                " DEPRECATED"
            } else {
                ""
            },
            join(well, ", "),
            join(errors, " "),
        )
        .unwrap();
    }
    assert_snapshot!("operations", table);
}

#[test]
fn the_table_of_schemas() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut table = String::new();
    let sorted: BTreeMap<_, _> = schemas.iter().collect();
    for (name, schema) in sorted {
        // The envelopes are all alike.
        if name.starts_with("Answer_") {
            continue;
        }
        if schema["properties"].is_object() {
            writeln!(table, "{name}:\n{}", wrapped(&fields(schema))).unwrap();
        } else {
            writeln!(table, "{name} = {}", type_name(schema)).unwrap();
        }
    }
    assert_snapshot!("schemas", table);
}

/// Writes fields in indented lines of at most 120 characters.
fn wrapped(fields: &[String]) -> String {
    let mut lines = vec![String::from(" ")];
    for field in fields {
        let line = lines.last_mut().unwrap();
        if line.len() + field.len() + 2 > 120 {
            lines.push(format!("  {field},"));
        } else {
            write!(line, " {field},").unwrap();
        }
    }
    lines.join("\n").trim_end_matches(',').to_owned()
}

#[test]
fn operation_ids_are_unique_and_begin_with_a_verb_of_the_table() {
    let mut known = BTreeSet::new();
    for operation in operations(&document()) {
        let (id, name) = (operation.id().to_owned(), operation.name());
        let is_snake_case = id
            .split('_')
            .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()));
        assert!(is_snake_case, "{name}: {id}");
        let (verb, noun) = id.split_once('_').unwrap_or_default();
        let verbs = VERBS.iter().find(|(method, _)| *method == operation.method);
        assert!(verbs.unwrap().1.contains(&verb), "{name}: {id}");
        assert!(!noun.is_empty(), "{name}: {id}");
        assert!(known.insert(id), "{name}");
    }
}

#[test]
fn every_operation_has_one_known_tag_and_every_tag_is_used() {
    let document = document();
    let tags = document["tags"].as_array().unwrap().iter();
    let known: BTreeSet<_> = tags.map(|tag| tag["name"].as_str().unwrap()).collect();
    let operations = operations(&document);
    let mut used = BTreeSet::new();
    for operation in &operations {
        let tags = operation.json["tags"].as_array().unwrap();
        assert_eq!(tags.len(), 1, "{}", operation.name());
        used.insert(tags[0].as_str().unwrap());
    }
    assert_eq!(used, known);
}

#[test]
fn a_summary_is_a_short_imperative_without_a_full_stop() {
    for operation in operations(&document()) {
        let name = operation.name();
        let summary = operation.json["summary"].as_str().unwrap();
        assert!(summary.chars().count() <= 72, "{name}: {summary}");
        assert!(!summary.ends_with('.'), "{name}: {summary}");
        assert!(!summary.contains('\n'), "{name}: {summary}");
        let first = summary.split(' ').next().unwrap();
        assert!(first.starts_with(char::is_uppercase), "{name}: {summary}");
        // "Lists tasks" describes; "List tasks" is an imperative.
        assert!(!first.ends_with('s'), "{name}: {summary}");
    }
}

#[test]
fn descriptions_name_their_noun() {
    for operation in operations(&document()) {
        let json = &operation.json;
        let parameters = json["parameters"].as_array().into_iter().flatten();
        let responses = json["responses"].as_object().unwrap().values();
        for described in parameters.chain(responses).chain([json]) {
            let text = described["description"].as_str().unwrap_or_default();
            assert!(names_its_noun(text), "{}: {text}", operation.name());
        }
    }
}

fn names_its_noun(text: &str) -> bool {
    let first = text.split(' ').next().unwrap_or_default();
    !["What", "Who", "Whoever", "Which", "It", "Those", "That"].contains(&first)
}

#[test]
fn descriptions_in_schemas_name_their_noun() {
    fn check(name: &str, json: &Value, checked: &mut usize) {
        if let Some(text) = json["description"].as_str() {
            assert!(names_its_noun(text), "{name}: {text}");
            *checked += 1;
        }
        let values = json
            .as_object()
            .into_iter()
            .flat_map(|object| object.values());
        for value in values.chain(json.as_array().into_iter().flatten()) {
            check(name, value, checked);
        }
    }
    let document = document();
    let mut checked = 0;
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        check(name, schema, &mut checked);
    }
    assert!(checked > 100, "only {checked} descriptions were found");
}

#[test]
fn every_parameter_has_a_description_and_ids_are_called_id() {
    for operation in operations(&document()) {
        let name = operation.name();
        for parameter in operation.json["parameters"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let description = parameter["description"].as_str().unwrap_or_default();
            assert!(!description.is_empty(), "{name}: {}", parameter["name"]);
        }
        for parameter in operation.parameters("path") {
            assert!(
                ["id", "name", "tool", "filename", "message"].contains(&parameter),
                "{name}: {parameter}"
            );
        }
    }
}

#[test]
fn every_operation_documents_its_error_statuses() {
    for operation in operations(&document()) {
        let has_body = operation.json["requestBody"].is_object();
        let is_change = operation.method != "get";
        let names_something =
            !operation.parameters("path").is_empty() && !CREATED_BY_ID.contains(&operation.id());
        let needed = [
            (
                "400",
                is_change || !operation.parameters("query").is_empty(),
            ),
            ("401", true),
            ("403", true),
            ("404", names_something),
            ("409", is_change),
            ("413", has_body),
            ("500", true),
        ];
        let statuses = operation.statuses();
        for (status, is_needed) in needed {
            assert!(
                !is_needed || statuses.contains(status),
                "{}: {status}",
                operation.name()
            );
        }
        let accepts_key = operation.parameters("header").contains(&"Idempotency-Key");
        assert_eq!(accepts_key, is_change, "{}", operation.name());
    }
}

#[tokio::test]
async fn every_operation_answers_with_a_documented_status() {
    let app = TestApp::new().await;
    // Streams end when the server stops.
    app.engine.stopping().cancel();
    for operation in operations(&document()) {
        let mut path = operation.path.clone();
        for parameter in operation.parameters("path") {
            path = path.replace(&format!("{{{parameter}}}"), "nope");
        }
        let method: Method = operation.method.to_uppercase().parse().unwrap();
        for query in ["", "?nope=1"] {
            for body in ["", "{}"] {
                let reply = app
                    .request(method.clone(), &format!("{path}{query}"), body)
                    .await;
                let status = reply.status.as_u16().to_string();
                assert!(
                    operation.statuses().contains(&status),
                    "{}{query} {body}: {status}",
                    operation.name()
                );
            }
        }
    }
}

#[test]
fn every_deprecated_operation_names_an_existing_successor() {
    let document = document();
    let mut deprecated = Vec::new();
    for operation in operations(&document) {
        if operation.json["deprecated"] != true {
            continue;
        }
        let description = operation.json["description"].as_str().unwrap();
        let successor = description.split('`').nth(1).unwrap();
        let path = successor.split('?').next().unwrap();
        assert!(
            document["paths"][path][&operation.method].is_object(),
            "{}: {description}",
            operation.name()
        );
        deprecated.push(operation.id().to_owned());
    }
    assert_eq!(
        deprecated,
        [
            "list_ready_tasks",
            "explain_route_legacy",
            "route_task_legacy"
        ]
    );
}

#[test]
fn limits_that_are_checked_are_in_the_schemas() {
    let document = document();
    let has = |place: &str, limits: Value| {
        let pointer = format!("/components/schemas/{}", place.replace('.', "/properties/"));
        let schema = document.pointer(&pointer).expect(place);
        for (name, limit) in limits.as_object().unwrap() {
            assert_eq!(&schema[name], limit, "{place}: {name}");
        }
    };
    let not_blank = json!({ "minLength": 1, "pattern": "^[^\\x00]*[^\\s\\x00][^\\x00]*$" });
    for place in [
        "TaskInput.description",
        "HandoffInput.prompt",
        "SessionHandoffInput.reason",
        "ToolInput.description",
    ] {
        has(place, not_blank.clone());
    }
    for place in [
        "Text",
        "DoneInput.response",
        "SessionHandoffInput.harnessTraceId",
    ] {
        has(place, json!({ "pattern": "^[^\\x00]*$" }));
    }
    for place in [
        "TaskInput.agentWorkspace",
        "RequestInput.agentWorkspace",
        "IncrementInput.agentWorkspace",
    ] {
        has(place, json!({ "pattern": "^/[^\\x00]*$" }));
    }
    for place in ["PlanningChange", "NeedsChange"] {
        has(place, json!({ "minProperties": 1 }));
    }
    has(
        "MailInput.subject",
        json!({ "minLength": 1, "maxLength": 1000 }),
    );
    has(
        "AgentChange.maxSeconds",
        json!({ "minimum": 1, "maximum": 31_536_000 }),
    );
    has(
        "AgentChange.outputForm",
        json!({ "pattern": "^(all|last_line|json:[^\\x00]+)$" }),
    );
    has("ToolInput.contextVariables", json!({ "maxItems": 100 }));
    has("ToolInput.allowedAgents", json!({ "minItems": 1 }));
    has("RoutesInput.routes", json!({ "maxItems": 1000 }));
}
