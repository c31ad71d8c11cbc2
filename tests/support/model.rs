//! A model of the API: the rules once more, as simply as possible, on plain JSON.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Reply;
use super::call::{Call, Verb};

/// A task with its events, messages, hand-offs and files.
#[derive(Debug, Default)]
pub struct ModelTask {
    pub task: Value,
    pub events: Vec<Value>,
    pub messages: Vec<Value>,
    /// The prompt and the reason of each hand-off.
    pub requests: Vec<(String, Option<String>)>,
    /// The bytes of each attachment.
    pub files: Vec<(&'static str, String)>,
}

/// An answer: status and `data`; or status, code and, where the contract fixes it, message.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Done(u16, Value),
    Refused(u16, &'static str, Option<String>),
}

use Answer::{Done, Refused};

impl Answer {
    pub fn assert_matches(&self, reply: &Reply) {
        match self {
            Done(status, data) => {
                assert_eq!(reply.status.as_u16(), *status, "{}", reply.json());
                assert_eq!(reply.json()["data"], *data);
            }
            Refused(status, code, message) => {
                assert_eq!(
                    reply.error(),
                    (*status, (*code).to_owned()),
                    "{}",
                    reply.json()
                );
                if let Some(message) = message {
                    assert_eq!(reply.json()["error"]["message"], *message);
                }
            }
        }
    }
}

#[derive(Debug)]
pub struct Model {
    pub tasks: Vec<ModelTask>,
    workspaces: PathBuf,
    keys: Vec<(Call, Answer)>,
}

impl Model {
    pub fn new(workspaces: PathBuf) -> Self {
        Self {
            tasks: Vec::new(),
            workspaces,
            keys: Vec::new(),
        }
    }

    /// Applies a call and returns the expected answer. Ids that the server generates are taken from `answered`.
    pub fn apply(&mut self, call: &Call, now: i64, answered: &Value) -> Answer {
        let blank = |text: &str| text.trim().is_empty();
        let is_invalid = match &call.verb {
            Verb::Create { description } => blank(description),
            Verb::Start { agent, prompt, .. } => blank(agent) || blank(prompt),
            Verb::Queue { content } => blank(content),
            Verb::Plan { change } => change == &json!({}),
            _ => false,
        };
        if is_invalid {
            return Refused(400, "INVALID_BODY", None);
        }
        // An upload checks its task before its idempotency key.
        let is_known = self.tasks.iter().any(|model| model.task["id"] == call.task);
        if matches!(call.verb, Verb::Attach { .. }) && !is_known {
            return not_found(&call.task);
        }
        match self
            .keys
            .iter()
            .find(|(known, _)| call.key.is_some() && known.key == call.key)
        {
            Some((known, answer)) if known == call => return answer.clone(),
            Some(_) => return Refused(409, "CONFLICT", None),
            None => {}
        }
        let answer = match &call.verb {
            Verb::Create { description } => self.create(description, now, answered),
            verb => match self
                .tasks
                .iter_mut()
                .find(|model| model.task["id"] == call.task)
            {
                Some(model) => model.apply(verb, now, answered),
                None => not_found(&call.task),
            },
        };
        if call.key.is_some() && matches!(answer, Done(..)) {
            self.keys.push((call.clone(), answer.clone()));
        }
        answer
    }

    fn create(&mut self, description: &str, now: i64, answered: &Value) -> Answer {
        let id = answered["id"].as_str().expect("the new task has no id");
        assert!(
            self.tasks.iter().all(|model| model.task["id"] != id),
            "the id {id} exists already"
        );
        let task = json!({
            "taskType": "descriptionOnly", "id": id, "description": description, "status": { "type": "pending" },
            "createdAt": now, "updatedAt": now, "sessionId": null, "parentId": null, "masterTaskId": null, "context": {},
            "agentRole": null, "specialistTags": [], "estimatedDuration": null, "priority": 2, "dependsOn": [], "agentContext": {},
            "handoffInstructions": {}, "incrementId": null, "stage": null, "round": null, "routeAttempts": 0, "waitingReason": null,
            "blocked": false, "sharedPlan": null,
            "source": { "sourceType": "api", "userId": "anonymous", "conversationId": null },
            "agentWorkspace": self.workspaces.join(id), "attachments": [], "currentAgent": null, "agentChain": [],
        });
        let mut model = ModelTask {
            task: task.clone(),
            ..ModelTask::default()
        };
        model.record_event(
            "task_created",
            &json!({ "description": description }),
            None,
            now,
        );
        self.tasks.push(model);
        Done(201, task)
    }
}

fn not_found(task: &str) -> Answer {
    Refused(404, "NOT_FOUND", Some(format!("Task not found: {task}")))
}

/// Agent names as callers write them, and the agents that they resolve to.
pub const AGENTS: &[(&str, Option<&str>)] = &[
    ("developer", Some("developer")),
    ("qa", Some("qa")),
    (" 'Developer Review'", Some("developer-review")),
    ("DEVELOPER_REVIEW", Some("developer-review")),
    ("`planner`", Some("planner")),
    ("nobody", None),
    ("developer2", None),
    (" ", None),
];

impl ModelTask {
    fn record_event(&mut self, event_type: &str, data: &Value, handoff: Option<Value>, now: i64) {
        let mut event = json!({ "timestamp": now, "eventType": event_type, "data": data });
        if let Some(handoff) = handoff {
            event["handoffId"] = handoff;
        }
        self.events.push(event);
        self.task["updatedAt"] = now.into();
    }

    fn last_entry(&mut self) -> &mut Value {
        self.task["agentChain"]
            .as_array_mut()
            .unwrap()
            .last_mut()
            .unwrap()
    }

    fn ok(&self) -> Answer {
        Done(200, self.task.clone())
    }

    fn apply(&mut self, verb: &Verb, now: i64, answered: &Value) -> Answer {
        match verb {
            Verb::Create { .. } => unreachable!("Model::apply creates tasks"),
            Verb::Start {
                agent,
                prompt,
                reason,
                resume,
            } => {
                let resolved = AGENTS.iter().find(|(name, _)| name == agent).unwrap().1;
                let Some(resolved) = resolved else {
                    return Refused(
                        400,
                        "UNKNOWN_AGENT",
                        Some(format!("Unknown agent: {agent}")),
                    );
                };
                if *resume {
                    return Refused(409, "CONFLICT", None);
                }
                if let Some(current) = self.task["currentAgent"].as_str() {
                    return Refused(
                        409,
                        "CONFLICT",
                        Some(format!("Agent already active on task: {current}")),
                    );
                }
                let chain = self.task["agentChain"].as_array_mut().unwrap();
                let id = answered["agentChain"][chain.len()]["id"].clone();
                assert!(id.is_string() && chain.iter().all(|entry| entry["id"] != id));
                chain.push(json!({
                    "agentName": resolved, "startedAt": now, "completedAt": null, "output": "", "id": id,
                    "fromAgent": null, "mode": "delegate", "outcome": null, "error": null,
                }));
                self.requests.push((prompt.clone(), reason.clone()));
                self.task["currentAgent"] = resolved.into();
                if matches!(
                    self.task["status"]["type"].as_str(),
                    Some("pending" | "waiting")
                ) {
                    self.task["status"] = json!({ "type": "active" });
                }
                self.record_event(
                    "agent_handoff_started",
                    &json!({ "agentName": resolved }),
                    Some(id),
                    now,
                );
                self.ok()
            }
            Verb::Complete { output } => self.end(output, true, now),
            Verb::Cancel { reason } => {
                let reason = reason.as_deref().filter(|reason| !reason.trim().is_empty());
                self.end(reason.unwrap_or("Cancelled"), false, now)
            }
            Verb::SetStatus { status } => {
                let status = match status {
                    Value::String(word) if word == "failed" => {
                        json!({ "type": word, "message": "" })
                    }
                    Value::String(word) => json!({ "type": word }),
                    object => object.clone(),
                };
                if self.task["status"] != status {
                    let data = json!({ "from": self.task["status"]["type"], "to": status["type"] });
                    self.task["status"] = status;
                    self.record_event("status_changed", &data, None, now);
                }
                self.ok()
            }
            Verb::Plan { change } => {
                let before = self.task.clone();
                self.task["taskType"] = "planned".into();
                for (field, empty) in [
                    ("summary", json!("")),
                    ("requirements", json!([])),
                    ("acceptanceCriteria", json!([])),
                    ("plan", json!([])),
                ] {
                    let kept = before.get(field).cloned().unwrap_or(empty);
                    self.task[field] = change.get(field).cloned().unwrap_or(kept);
                }
                if self.task != before {
                    self.record_event("planning_updated", &json!({}), None, now);
                }
                self.ok()
            }
            Verb::Queue { content } => {
                let message = json!({
                    "id": answered["id"], "content": content, "receivedAt": now, "deliveredAt": null, "handoffId": null,
                });
                assert!(
                    message["id"].is_string()
                        && self
                            .messages
                            .iter()
                            .all(|known| known["id"] != message["id"])
                );
                self.record_event(
                    "message_queued",
                    &json!({ "messageId": message["id"] }),
                    None,
                    now,
                );
                self.messages.push(message.clone());
                Done(201, message)
            }
            Verb::Attach { filename, bytes } => {
                if self.files.iter().any(|(known, _)| known == filename) {
                    return Refused(409, "CONFLICT", None);
                }
                self.files.push((filename, bytes.clone()));
                self.task["attachments"].as_array_mut().unwrap().push(json!({
                    "filename": filename, "size": bytes.len(), "contentType": "application/octet-stream", "uploadedAt": now,
                }));
                let data = json!({ "filename": filename, "size": bytes.len().to_string() });
                self.record_event("attachment_added", &data, None, now);
                self.ok()
            }
            Verb::Detach { filename } => {
                let Some(place) = self.files.iter().position(|(known, _)| known == filename) else {
                    return Refused(
                        404,
                        "NOT_FOUND",
                        Some(format!("Attachment not found: {filename}")),
                    );
                };
                self.files.remove(place);
                self.task["attachments"]
                    .as_array_mut()
                    .unwrap()
                    .remove(place);
                self.record_event(
                    "attachment_removed",
                    &json!({ "filename": filename }),
                    None,
                    now,
                );
                self.ok()
            }
        }
    }

    fn end(&mut self, output: &str, is_completed: bool, now: i64) -> Answer {
        if self.task["currentAgent"].is_null() {
            return Refused(409, "CONFLICT", None);
        }
        let agent = std::mem::replace(&mut self.task["currentAgent"], Value::Null);
        if self.task["status"]["type"] == "active" {
            self.task["status"] = json!({ "type": "waiting" });
        }
        let entry = self.last_entry();
        entry["completedAt"] = now.into();
        entry["output"] = output.into();
        entry["outcome"] = if is_completed {
            "completed"
        } else {
            "cancelled"
        }
        .into();
        entry["error"] = if is_completed {
            Value::Null
        } else {
            output.into()
        };
        let id = entry["id"].clone();
        // The output of somebody else enters the conversation.
        if is_completed && !output.trim().is_empty() {
            let said = json!({ "type": "assistant_message", "content": output });
            self.record_event("message_added", &said, Some(id.clone()), now);
        }
        let (event_type, data) = if is_completed {
            let length = output.chars().count().to_string();
            (
                "agent_handoff_completed",
                json!({ "agentName": agent, "outputLength": length }),
            )
        } else {
            (
                "agent_handoff_cancelled",
                json!({ "agentName": agent, "reason": output }),
            )
        };
        self.record_event(event_type, &data, Some(id), now);
        self.ok()
    }
}
