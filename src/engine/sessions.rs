//! Moves sessions from one agent to another.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{Engine, Result};
use crate::domain::{Caller, Idempotency, Problems, SessionMove, Task, TaskId, Text, TraceParent};
use crate::error::Error;
use crate::ledger::handoff::{self, MoveSession, Moved};
use crate::ledger::{agent, idempotency, rights};

/// The maximum number of bytes of an agent's name in an error.
const LONGEST_NAME: usize = 100;

impl Engine {
    /// Moves a session to another agent. Returns the session's task, whose last hand-off is the new one.
    pub async fn move_session(
        &self,
        session_id: &str,
        body: BTreeMap<String, Box<RawValue>>,
        caller: &Caller,
        trace: Option<TraceParent>,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        let name = |key: &str| {
            let name = body.get(key).map_or("", |raw| raw.get());
            Text::lossy(serde_json::from_str(name).unwrap_or_default()).beginning(LONGEST_NAME)
        };
        let context = format!("{}->{}", name("fromAgent"), name("toAgent"));
        let refuse = |problems: Problems| {
            // Log only the names of the wrong fields: their values may be secret.
            let fields: Vec<_> = problems.0.iter().map(|problem| &*problem.field).collect();
            tracing::warn!(target: "chorus::handoff", fields = fields.join(", "), "HANDOFF_FAILURE");
            Error::Handoff {
                context: context.clone(),
                problems,
            }
        };
        let agents = self.read(agent::list).await?;
        let to = match SessionMove::read(session_id, body, &agents) {
            Ok(to) => to,
            Err(problems) => {
                // A repeated request gets its first answer, even if it is no longer valid.
                let earlier = match &once {
                    Some(once) => {
                        let once = once.clone();
                        self.read(move |view| idempotency::find_answer(view, &once))
                            .await?
                    }
                    None => None,
                };
                return match earlier {
                    Some(Moved { task, .. }) => Ok(task),
                    None => Err(refuse(problems)),
                };
            }
        };
        let limit = self.limits().prompt;
        if to.user_intent.as_str().len() > limit {
            return Err(Error::TooLarge {
                what: "userIntent",
                limit,
            });
        }
        if let Err(refusal) = rights::may_move_session_as(caller, &to.from_agent) {
            let mut problems = Problems::default();
            problems.add("fromAgent", Error::from(refusal).to_string());
            return Err(refuse(problems));
        }
        self.catch_up(caller).await;
        let id = TaskId::new();
        let workspace = self.workspace(&id, None)?;
        let to = MoveSession {
            asked: to,
            new_task: (id, workspace),
            caller: caller.clone(),
            trace,
        };
        let moved = self
            .write(once, move |tx| handoff::move_session(tx, &to))
            .await?;
        Ok(self.start_successor(moved))
    }
}
