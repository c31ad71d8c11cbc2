//! Consistency checks for imported requests.

use super::request::{Request, RequestSourceType, Transition};
use super::state::{Actor, RequestMove, RequestState};

impl Request {
    /// Checks an imported request for contradictions. A source of type `task` may have lost its task.
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
            return Err("only a source of type `file` may have `file` and `line`".to_owned());
        }
        Ok(())
    }

    /// Checks that the fields match the state.
    fn check_state(&self) -> Result<(), String> {
        let state = self.state.as_str();
        if self.state != RequestState::Claimed && self.lease.is_some() {
            return Err(format!(
                "`lease` requires the state claimed, but the state is {state}"
            ));
        }
        if self.handoff_id.is_some() && self.lease.is_none() {
            return Err("`handoffId` requires a `lease`".to_owned());
        }
        if let Some(lease) = &self.lease
            && (lease.fencing != self.attempts || self.attempts == 0)
        {
            return Err(format!(
                "`lease.fencing` is {} and `attempts` is {}; they must be equal and at least 1",
                lease.fencing, self.attempts
            ));
        }
        if (self.state == RequestState::Done) != self.response.is_some() {
            return Err(format!(
                "`response` must be set if and only if the state is done, but the state is {state}"
            ));
        }
        if self.stuck && self.state != RequestState::Needs {
            return Err(format!(
                "`stuck` requires the state needs, but the state is {state}"
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

    /// Checks that the transitions form a legal path that ends in the current state.
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
                    "`transitions[{place}]` leads from {} to {}, which only a file may do",
                    moved.from.map_or("nowhere", RequestState::as_str),
                    moved.to.as_str()
                ));
            }
            at = Some(moved.to);
        }
        if at != Some(self.state) {
            return Err(format!(
                "the last of `transitions` must lead to the state {}",
                self.state.as_str()
            ));
        }
        // A person may be named `file` too, so their claims may or may not count as attempts.
        let claims = |by_file: bool| {
            let is_claim = |moved: &&Transition| {
                moved.to == RequestState::Claimed && (by_file || !moved.is_by_file())
            };
            self.transitions.iter().filter(is_claim).count()
        };
        let attempts = self.attempts as usize;
        if attempts < claims(false) || attempts > claims(true) {
            return Err(format!(
                "`attempts` is {attempts}, but must be the number of claims in `transitions`"
            ));
        }
        Ok(())
    }
}

impl Transition {
    /// Whether the transition came from a file, judging by the name alone.
    pub fn is_by_file(&self) -> bool {
        self.by.as_str() == Actor::File.name()
    }

    /// Whether the state machine allows the transition. A file may set any state.
    fn is_possible(&self) -> bool {
        const MOVES: [RequestMove; 7] = [
            RequestMove::Approve,
            RequestMove::Next,
            RequestMove::Claim,
            RequestMove::Finish,
            RequestMove::Withdraw,
            RequestMove::Requeue,
            RequestMove::Retry,
        ];
        self.is_by_file()
            || match self.from {
                None => self.to == RequestState::Needs,
                Some(from) => MOVES
                    .iter()
                    .any(|step| from.transition(*step) == Some(self.to)),
            }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

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
    fn a_consistent_request_passes() {
        assert_eq!(check(claimed()), Ok(()));
        let mut by_file = claimed();
        by_file["transitions"] =
            json!([{ "from": null, "to": "claimed", "by": "file", "at": 1, "reason": null }]);
        by_file["attempts"] = json!(0);
        by_file["lease"] = Value::Null;
        assert_eq!(check(by_file), Ok(()));
    }

    #[test]
    fn each_contradiction_has_its_message() {
        for (path, value, said) in [
            ("/title", json!(""), "`title` must not be empty"),
            ("/source/line", json!(3), "only a source of type `file`"),
            ("/source/sourceType", json!("file"), "requires `file`"),
            (
                "/state",
                json!("needs"),
                "`lease` requires the state claimed",
            ),
            ("/lease", json!(null), ""),
            ("/lease/fencing", json!(2), "must be equal and at least 1"),
            ("/attempts", json!(2), "must be equal and at least 1"),
            (
                "/response",
                json!("r"),
                "`response` must be set if and only if",
            ),
            ("/transitions", json!([]), "must lead to the state claimed"),
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
            ("stuck", json!(true), "`stuck` requires the state needs"),
            ("jobId", json!(""), "`jobId` must not be empty"),
        ] {
            let mut request = claimed();
            request[key] = value;
            assert!(check(request).unwrap_err().contains(said));
        }
        let mut request = claimed();
        request["lease"] = Value::Null;
        request["handoffId"] = json!("h");
        assert_eq!(
            check(request).unwrap_err(),
            "`handoffId` requires a `lease`"
        );
        let mut request = claimed();
        request["lease"] = Value::Null;
        request["attempts"] = json!(2);
        assert!(check(request).unwrap_err().contains("the number of claims"));
    }
}
