//! Reconciliation of tags in files with the ledger.

use super::matching::FileTag;
use crate::domain::{Request, RequestState, Text, Transition};

/// The step that reconciles a request with its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    Agree,
    /// The request has moved; write its state to the file.
    UpdateFile,
    /// The tag has changed; move the request to its state.
    FollowFile,
    /// The tag approves, but its file may not; restore the tag.
    IgnoreFile,
    /// The tag says `done` while the agent still runs; its final message becomes the response.
    LetFinish,
}

/// A request and its tag.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'a> {
    /// The state of the request.
    pub request: RequestState,
    /// The last common state.
    pub agreed: RequestState,
    /// The transitions of the request since then, which the author of the tag may not have known.
    pub since: &'a [Transition],
    /// The state in the file.
    pub file: RequestState,
    /// Whether an agent of this server is working on the request.
    pub is_running: bool,
    /// Whether a tag in the file may approve.
    pub file_approves: bool,
}

impl Agreement {
    /// Decides how a request and its tag agree again. The file wins only if its author changed the tag, and not with a state that the
    /// request has passed meanwhile: a file is always read late.
    pub fn decide(sides: &Comparison<'_>) -> Self {
        let Comparison {
            request,
            agreed,
            since,
            file,
            ..
        } = *sides;
        // Only the operator may move a request out of `needs` or skip that state.
        let is_approval = file.is_approval() || request == RequestState::Needs;
        let is_passed = since.iter().any(|moved| moved.to == file);
        // Only the author of a tag that said `done` can mean to reopen the request.
        let is_finished = request == RequestState::Done && !since.is_empty();
        if request == file {
            Self::Agree
        } else if file == agreed || is_passed || is_finished {
            Self::UpdateFile
        } else if is_approval && !sides.file_approves {
            Self::IgnoreFile
        } else if file == RequestState::Done && sides.is_running {
            Self::LetFinish
        } else {
            Self::FollowFile
        }
    }
}

/// The step that reconciles an alert with its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlertAgreement {
    Agree,
    /// The tag is done; resolve the alert.
    Resolve,
    /// The alert was resolved elsewhere; write that to the file.
    UpdateFile,
    /// The tag was done and is active again; raise a new alert.
    RaiseAgain,
}

impl AlertAgreement {
    /// Compares the alert, the last common state of the tag and the state in the file.
    pub const fn decide(is_resolved: bool, was_active: bool, is_active: bool) -> Self {
        match (is_resolved, is_active) {
            (false, true) | (true, false) => Self::Agree,
            (false, false) => Self::Resolve,
            (true, true) if was_active => Self::UpdateFile,
            (true, true) => Self::RaiseAgain,
        }
    }
}

/// The changes of a request that follows the text around its tag.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FollowedText {
    /// The removed tag is back.
    pub is_restored: bool,
    /// The title, the body or the weights changed.
    pub is_edited: bool,
    /// Anything changed, including the line.
    pub is_changed: bool,
}

impl FollowedText {
    /// Updates a request from the text around its tag. A claimed request keeps the text with which it was claimed.
    pub fn apply(request: &mut Request, tag: &FileTag, file: &Text, root: &Text) -> Self {
        let is_restored = request.withdrawn_at.take().is_some();
        let source = (Some(file), Some(tag.line));
        let is_moved = (request.source.file.as_ref(), request.source.line) != source;
        (request.source.file, request.source.line) = (Some(file.clone()), Some(tag.line));
        if matches!(request.state, RequestState::Claimed | RequestState::Done) {
            return Self {
                is_restored,
                is_edited: false,
                is_changed: is_restored || is_moved,
            };
        }
        let is_elsewhere = request.agent_workspace.as_ref() != Some(root);
        request.agent_workspace = Some(root.clone());
        let title = Text::lossy(tag.title.clone());
        let body = Text::lossy(tag.body.clone());
        let weight = (tag.priority.unwrap_or_default(), tag.effort);
        let is_edited = request.title != title
            || (request.priority, request.effort) != weight
            || without_states(request.body.as_str()) != without_states(body.as_str());
        if is_edited {
            (request.title, request.body) = (title, body);
            (request.priority, request.effort) = weight;
        }
        Self {
            is_restored,
            is_edited,
            is_changed: is_restored || is_moved || is_elsewhere || is_edited,
        }
    }
}

/// Removes the states of tags, which change while the text stays the same.
fn without_states(text: &str) -> String {
    let mut text = text.to_owned();
    for state in RequestState::ALL {
        text = text.replace(&format!("#{}-", state.as_str()), "#");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Priority, Timestamp};
    use RequestState::{Claimed, Delegated, Done, Needs, Next};

    fn moves(states: &[RequestState]) -> Vec<Transition> {
        let moved = |to: &RequestState| Transition {
            from: None,
            to: *to,
            by: Text::default(),
            at: Timestamp::from_millis(1),
            reason: None,
        };
        states.iter().map(moved).collect()
    }

    fn decide(
        request: RequestState,
        agreed: RequestState,
        since: &[RequestState],
        file: RequestState,
        file_approves: bool,
    ) -> Agreement {
        Agreement::decide(&Comparison {
            request,
            agreed,
            since: &moves(since),
            file,
            is_running: false,
            file_approves,
        })
    }

    #[test]
    fn the_file_wins_only_if_it_changed() {
        for agreed in RequestState::ALL {
            for file in RequestState::ALL {
                let expected = if file == agreed {
                    Agreement::Agree
                } else {
                    Agreement::FollowFile
                };
                let decided = decide(agreed, agreed, &[], file, true);
                assert_eq!(decided, expected, "{agreed:?} {file:?}");
            }
        }
        // Approved over HTTP, and the server died before it wrote the file: the approval is not lost.
        let decided = decide(Delegated, Needs, &[Delegated], Needs, true);
        assert_eq!(decided, Agreement::UpdateFile);
        // Approved over HTTP, and the operator marked it as done before it was written into the file.
        let decided = decide(Delegated, Needs, &[Delegated], Done, true);
        assert_eq!(decided, Agreement::FollowFile);
    }

    #[test]
    fn a_tag_that_the_request_has_passed_is_no_news() {
        for (request, agreed, since, file) in [
            // The agent claimed in the file, and had finished before the file was read.
            (Done, Delegated, &[Claimed, Done][..], Claimed),
            // The server wrote the file, and died before it recorded that.
            (Claimed, Needs, &[Delegated, Claimed], Delegated),
            (Needs, Needs, &[Delegated, Claimed, Needs], Claimed),
            (Done, Needs, &[Delegated, Claimed, Done], Claimed),
            // The tag was changed by an author who did not know that the request is done.
            (Done, Claimed, &[Done], Needs),
            (Done, Delegated, &[Claimed, Done], Needs),
        ] {
            let decided = decide(request, agreed, since, file, true);
            assert_eq!(
                decided,
                Agreement::UpdateFile,
                "{request:?} {since:?} {file:?}"
            );
        }
        // Changing a tag that says `done` reopens the request.
        let decided = decide(Done, Done, &[], Needs, true);
        assert_eq!(decided, Agreement::FollowFile);
    }

    #[test]
    fn an_agent_that_says_done_may_finish() {
        for (request, file, is_running, expected) in [
            (Claimed, Done, true, Agreement::LetFinish),
            (Claimed, Done, false, Agreement::FollowFile),
            (Claimed, Needs, true, Agreement::FollowFile),
            (Done, Done, true, Agreement::Agree),
        ] {
            for file_approves in [true, false] {
                let decided = Agreement::decide(&Comparison {
                    request,
                    agreed: request,
                    since: &[],
                    file,
                    is_running,
                    file_approves,
                });
                assert_eq!(decided, expected, "{request:?} {file:?} {is_running}");
            }
        }
    }

    #[test]
    fn a_file_without_the_right_neither_approves_nor_skips_needs() {
        for (request, agreed, file, expected) in [
            (Needs, Needs, Delegated, Agreement::IgnoreFile),
            (Needs, Needs, Next, Agreement::IgnoreFile),
            (Needs, Needs, Claimed, Agreement::IgnoreFile),
            (Needs, Needs, Done, Agreement::IgnoreFile),
            (Claimed, Claimed, Delegated, Agreement::IgnoreFile),
            (Done, Done, Next, Agreement::IgnoreFile),
            (Claimed, Claimed, Done, Agreement::FollowFile),
            (Claimed, Claimed, Needs, Agreement::FollowFile),
            (Done, Done, Needs, Agreement::FollowFile),
        ] {
            let decided = decide(request, agreed, &[], file, false);
            assert_eq!(decided, expected, "{request:?} {agreed:?} {file:?}");
        }
        for (file, expected) in [
            (Needs, Agreement::UpdateFile),
            (Delegated, Agreement::Agree),
        ] {
            let decided = decide(Delegated, Needs, &[Delegated], file, false);
            assert_eq!(decided, expected, "{file:?}");
        }
    }

    #[test]
    fn an_alert_is_resolved_raised_again_or_written_to_the_file() {
        for (is_resolved, was_active, is_active, expected) in [
            (false, true, true, AlertAgreement::Agree),
            (false, false, true, AlertAgreement::Agree),
            (false, true, false, AlertAgreement::Resolve),
            (false, false, false, AlertAgreement::Resolve),
            (true, true, false, AlertAgreement::Agree),
            (true, false, false, AlertAgreement::Agree),
            (true, true, true, AlertAgreement::UpdateFile),
            (true, false, true, AlertAgreement::RaiseAgain),
        ] {
            let decided = AlertAgreement::decide(is_resolved, was_active, is_active);
            assert_eq!(decided, expected, "{is_resolved} {was_active} {is_active}");
        }
    }

    fn request(state: RequestState) -> Request {
        serde_json::from_value(serde_json::json!({
            "id": "r", "title": "a", "body": "a #needs-fix", "kind": "fix", "state": state, "priority": "P2",
            "effort": null, "source": { "sourceType": "file", "file": "/notes.md", "line": 3 }, "taskId": null,
            "response": null, "attempts": 0, "lease": null, "transitions": [], "recovery": [],
            "createdAt": 1, "updatedAt": 1,
            "agentWorkspace": "/",
        }))
        .unwrap()
    }

    fn tag(title: &str, line: u32) -> FileTag {
        FileTag {
            kind: "fix".parse().unwrap(),
            state: Needs,
            line,
            title: title.to_owned(),
            body: format!("{title} #delegated-fix"),
            priority: None,
            effort: None,
        }
    }

    #[test]
    fn a_request_follows_its_text_until_it_is_claimed() {
        let (file, root) = ("/notes.md".parse().unwrap(), "/".parse().unwrap());
        let apply = |request: &mut Request, tag| FollowedText::apply(request, &tag, &file, &root);
        let (nothing, moved) = (
            FollowedText::default(),
            FollowedText {
                is_changed: true,
                ..FollowedText::default()
            },
        );
        let edited = FollowedText {
            is_edited: true,
            ..moved
        };
        for (state, tag, expected) in [
            (Needs, tag("a", 3), nothing),
            (Needs, tag("a", 4), moved),
            (Needs, tag("b", 3), edited),
            (Claimed, tag("b", 3), nothing),
            (Done, tag("b", 4), moved),
        ] {
            let mut request = request(state);
            let followed = apply(&mut request, tag.clone());
            assert_eq!(followed, expected, "{state:?} {tag:?}");
            assert_eq!(request.title.as_str() == "b", expected.is_edited);
            assert_eq!(request.source.line, Some(tag.line));
        }
        let mut withdrawn = request(Claimed);
        withdrawn.withdrawn_at = Some(Timestamp::from_millis(1));
        let followed = apply(&mut withdrawn, tag("a", 3));
        assert!(followed.is_restored && followed.is_changed);
        assert_eq!(withdrawn.withdrawn_at, None);
        let mut urgent = request(Needs);
        let followed = apply(
            &mut urgent,
            FileTag {
                priority: Some(Priority::P0),
                ..tag("a", 3)
            },
        );
        assert!(followed.is_edited);
        assert_eq!(urgent.priority, Priority::P0);
    }

    #[test]
    fn the_states_of_tags_do_not_change_a_text() {
        let text = |state: &str| format!("a #{state}-fix b `#{state}-x` #P1");
        assert_eq!(
            without_states(&text("needs")),
            without_states(&text("claimed"))
        );
        assert_ne!(
            without_states("a #needs-fix"),
            without_states("a #needs-loop")
        );
    }
}
