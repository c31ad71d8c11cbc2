//! Checks of a request that is imported.

use super::request::{Request, RequestSourceType, Transition};
use super::state::{Actor, RequestMove, RequestState};

impl Request {
    /// Says what does not fit together. A source of type `task` may have lost its task.
    pub fn check(&self) -> Result<(), String> {
        if self.title.as_str().is_empty() {
            return Err("`title` must not be empty".to_owned());
        }
        self.check_source()?;
        self.check_state()?;
        self.check_transitions()
    }

    fn check_source(&self) -> Result<(), String> {
        let source = &self.source;
        if source.source_type != RequestSourceType::Task || source.task_id.is_some() {
            return source.check().map_err(str::to_owned);
        }
        if source.file.is_some() || source.line.is_some() {
            return Err("only a source of type `file` has a file and a line".to_owned());
        }
        Ok(())
    }

    /// Checks that it has what belongs to its state, and nothing else.
    fn check_state(&self) -> Result<(), String> {
        let state = self.state.as_str();
        if self.state != RequestState::Claimed && self.lease.is_some() {
            return Err(format!(
                "it is {state}, and only what is claimed has a `lease`"
            ));
        }
        if self.handoff_id.is_some() && self.lease.is_none() {
            return Err("`handoffId` needs a `lease`".to_owned());
        }
        if let Some(lease) = &self.lease
            && (lease.fencing != self.attempts || self.attempts == 0)
        {
            return Err(format!(
                "`lease.fencing` is {}, and must be the number of `attempts`, which is {}",
                lease.fencing, self.attempts
            ));
        }
        if (self.state == RequestState::Done) != self.response.is_some() {
            return Err(format!(
                "it is {state}, and only what is done has a `response`"
            ));
        }
        if self.stuck && self.state != RequestState::Needs {
            return Err(format!(
                "it is {state}, and only what is in needs can be `stuck`"
            ));
        }
        if self
            .job_id
            .as_ref()
            .is_some_and(|id| id.as_str().is_empty())
        {
            return Err("`jobId` must not be empty".to_owned());
        }
        Ok(())
    }

    /// Checks that its life leads to where it is.
    fn check_transitions(&self) -> Result<(), String> {
        let mut at = None;
        for (place, moved) in self.transitions.iter().enumerate() {
            if moved.from != at || (place > 0) != moved.from.is_some() {
                return Err(format!(
                    "`transitions[{place}].from` must be {}",
                    at.map_or("null", RequestState::as_str)
                ));
            }
            if !moved.is_possible() {
                return Err(format!(
                    "`transitions[{place}]` leads from {} to {}, which only a file can say",
                    moved.from.map_or("nowhere", RequestState::as_str),
                    moved.to.as_str()
                ));
            }
            at = Some(moved.to);
        }
        if at != Some(self.state) {
            return Err(format!(
                "it is {}, and its last transition must lead there",
                self.state.as_str()
            ));
        }
        // A person may be called `file` too.
        let claims = |by_file: bool| {
            let is_claim = |moved: &&Transition| {
                moved.to == RequestState::Claimed && (by_file || !moved.is_by_file())
            };
            self.transitions.iter().filter(is_claim).count()
        };
        let attempts = self.attempts as usize;
        if attempts < claims(false) || attempts > claims(true) {
            return Err(format!(
                "`attempts` is {attempts}, and must be how often it was claimed"
            ));
        }
        Ok(())
    }
}

impl Transition {
    /// Tells whether a file said so, as far as the name tells.
    pub fn is_by_file(&self) -> bool {
        self.by.as_str() == Actor::File.name()
    }

    /// Tells whether it is a move that there is. The file wins, also over the order of states.
    fn is_possible(&self) -> bool {
        const MOVES: [RequestMove; 6] = [
            RequestMove::Approve,
            RequestMove::Next,
            RequestMove::Claim,
            RequestMove::Finish,
            RequestMove::Requeue,
            RequestMove::Retry,
        ];
        self.is_by_file()
            || match self.from {
                None => self.to == RequestState::Needs,
                Some(from) => MOVES.iter().any(|step| from.after(*step) == Some(self.to)),
            }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A request that was claimed, as it is written down.
    fn claimed() -> Value {
        let moved = |from: Value, to: &str, by: &str| json!({ "from": from, "to": to, "by": by, "at": 1, "reason": null });
        json!({
            "id": "r", "title": "t", "body": "", "kind": "fix", "state": "claimed", "priority": "P1", "effort": null,
            "source": { "sourceType": "task", "taskId": null, "file": null, "line": null }, "taskId": null, "response": null, "attempts": 1,
            "lease": { "agent": "qa", "fencing": 1, "expiresAt": 2 }, "recovery": [], "createdAt": 1, "updatedAt": 1,
            "transitions": [
                moved(Value::Null, "needs", "operator"), moved(json!("needs"), "delegated", "operator"),
                moved(json!("delegated"), "claimed", "dispatcher"),
            ],
        })
    }

    fn check(request: Value) -> Result<(), String> {
        serde_json::from_value::<Request>(request).unwrap().check()
    }

    #[test]
    fn what_chorus_writes_fits_together() {
        assert_eq!(check(claimed()), Ok(()));
        let mut by_file = claimed();
        by_file["transitions"] =
            json!([{ "from": null, "to": "claimed", "by": "file", "at": 1, "reason": null }]);
        by_file["attempts"] = json!(0);
        by_file["lease"] = Value::Null;
        assert_eq!(check(by_file), Ok(()));
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for (path, value, said) in [
            ("/title", json!(""), "`title` must not be empty"),
            ("/source/line", json!(3), "only a source of type `file`"),
            ("/source/sourceType", json!("file"), "needs a file"),
            (
                "/state",
                json!("needs"),
                "only what is claimed has a `lease`",
            ),
            ("/lease", json!(null), ""),
            (
                "/lease/fencing",
                json!(2),
                "must be the number of `attempts`",
            ),
            ("/attempts", json!(2), "must be the number of `attempts`"),
            (
                "/response",
                json!("r"),
                "only what is done has a `response`",
            ),
            (
                "/transitions",
                json!([]),
                "its last transition must lead there",
            ),
            (
                "/transitions/0/from",
                json!("needs"),
                "`transitions[0].from` must be null",
            ),
            (
                "/transitions/1/from",
                json!(null),
                "`transitions[1].from` must be needs",
            ),
            (
                "/transitions/2/from",
                json!("next"),
                "`transitions[2].from` must be delegated",
            ),
            (
                "/transitions/1",
                json!({ "from": "needs", "to": "claimed", "by": "x", "at": 1, "reason": null }),
                "leads from needs to claimed",
            ),
        ] {
            let mut request = claimed();
            *request
                .pointer_mut(path)
                .unwrap_or_else(|| panic!("{path}")) = value;
            match check(request) {
                Ok(()) => assert_eq!(said, "", "{path}"),
                Err(error) => assert!(!said.is_empty() && error.contains(said), "{path}: {error}"),
            }
        }
        for (key, value, said) in [
            ("stuck", json!(true), "can be `stuck`"),
            ("jobId", json!(""), "`jobId` must not be empty"),
        ] {
            let mut request = claimed();
            request[key] = value;
            assert!(check(request).unwrap_err().contains(said));
        }
        let mut request = claimed();
        request["lease"] = Value::Null;
        request["handoffId"] = json!("h");
        assert_eq!(check(request).unwrap_err(), "`handoffId` needs a `lease`");
        let mut request = claimed();
        request["lease"] = Value::Null;
        request["attempts"] = json!(2);
        assert!(
            check(request)
                .unwrap_err()
                .contains("how often it was claimed")
        );
    }
}
