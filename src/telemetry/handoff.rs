//! Reports the span of an ended hand-off to the log and to the collector.

use tracing::Level;

use crate::domain::{AgentName, HandoffSpan, Outcome, SpanId, Text};

/// The maximum number of bytes of free text in a span.
const LONGEST_TEXT: usize = 500;

const COMPLETED: &str = "AGENT_HANDOFF";
const FAILED: &str = "HANDOFF_FAILURE";

impl HandoffSpan {
    pub const fn name(&self) -> &'static str {
        if self.has_failed() { FAILED } else { COMPLETED }
    }

    /// Whether a hand-off with this outcome is reported to the log or to the collector.
    pub fn is_wanted(outcome: Outcome) -> bool {
        #[cfg(feature = "otlp")]
        if super::otlp::is_installed() {
            return true;
        }
        match outcome {
            Outcome::Completed => tracing::enabled!(target: "chorus::handoff", Level::INFO),
            _ => tracing::enabled!(target: "chorus::handoff", Level::WARN),
        }
    }

    /// Writes the span to the log, and sends it to the collector if there is one. Never blocks and never fails.
    pub fn record(&self) {
        let span = self.shortened();
        span.log();
        #[cfg(feature = "otlp")]
        super::otlp::send(&span);
    }

    /// Returns the span with long texts cut; a cut text ends with `…`.
    fn shortened(&self) -> Self {
        let cut = |text: &Option<Text>| text.as_ref().map(|text| text.beginning(LONGEST_TEXT));
        Self {
            session_id: cut(&self.session_id),
            reason: cut(&self.reason),
            harness_trace_id: cut(&self.harness_trace_id),
            ..self.clone()
        }
    }

    fn log(&self) {
        // tracing needs the name and the level at compile time, so there are two spans.
        macro_rules! log_span {
            ($level:expr, $name:expr, $message:literal) => {{
                let span = tracing::span!(
                    target: "chorus::handoff",
                    parent: None,
                    $level,
                    $name,
                    trace_id = self.trace_id.as_str(),
                    span_id = self.span_id.as_str(),
                    parent_span_id = self.parent_span_id.as_ref().map(SpanId::as_str),
                    handoff_id = self.handoff_id.as_str(),
                    task_id = self.task_id.as_str(),
                    session_id = self.session_id.as_ref().map(Text::as_str),
                    from_agent = self.from_agent.as_ref().map(AgentName::as_str),
                    to_agent = self.to_agent.as_str(),
                    mode = self.mode.as_str(),
                    reason = self.reason.as_ref().map(Text::as_str),
                    started_at = self.started_at.as_millis(),
                    completed_at = self.completed_at.as_millis(),
                    duration_ms = self.duration_ms(),
                    outcome = self.outcome.as_str(),
                    harness_trace_id = self.harness_trace_id.as_ref().map(Text::as_str),
                );
                // The span is entered, because JSON lines show only entered spans, not parents.
                span.in_scope(|| tracing::event!(target: "chorus::handoff", $level, $message));
            }};
        }
        if self.has_failed() {
            log_span!(Level::WARN, FAILED, "hand-off failed");
        } else {
            log_span!(Level::INFO, COMPLETED, "hand-off completed");
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::super::LogFormat;
    use super::super::logs::tests::logged;
    use super::*;
    use crate::domain::{Door, HandoffId, TaskId, Timestamp, TraceId};

    const ID: &str = "0198f3c0-aaaa-7000-8abc-0123456789ab";

    /// Returns a span without optional fields.
    pub fn bare(outcome: Outcome) -> HandoffSpan {
        let handoff_id = HandoffId::parse(ID).unwrap();
        HandoffSpan {
            trace_id: TraceId::from(&handoff_id),
            span_id: SpanId::from(&handoff_id),
            parent_span_id: None,
            handoff_id,
            task_id: TaskId::parse("t1").unwrap(),
            session_id: None,
            from_agent: None,
            to_agent: AgentName::parse("qa").unwrap(),
            mode: Door::Delegate,
            reason: None,
            started_at: Timestamp::from_millis(1_000),
            completed_at: Timestamp::from_millis(3_500),
            outcome,
            harness_trace_id: None,
        }
    }

    /// Returns a span with all fields.
    fn full() -> HandoffSpan {
        let text = |text: &str| Some(text.parse().unwrap());
        HandoffSpan {
            parent_span_id: Some(SpanId::parse("b7ad6b7169203331").unwrap()),
            session_id: text("s1"),
            from_agent: Some(AgentName::parse("developer").unwrap()),
            mode: Door::Transfer,
            reason: text("needs \"tests\"\nsoon"),
            harness_trace_id: text("h1"),
            ..bare(Outcome::Failed)
        }
    }

    fn only_line(span: &HandoffSpan) -> Value {
        let lines = logged("info", LogFormat::Json, || span.record());
        serde_json::from_str(&lines).expect("one line of JSON")
    }

    #[test]
    fn a_failed_hand_off_is_a_warning_with_every_field() {
        let line = only_line(&full());
        assert_eq!(
            (&line["level"], &line["target"], &line["message"]),
            (
                &json!("WARN"),
                &json!("chorus::handoff"),
                &json!("hand-off failed")
            )
        );
        assert_eq!(
            line["span"],
            json!({
                "name": "HANDOFF_FAILURE",
                "trace_id": "0198f3c0aaaa70008abc0123456789ab",
                "span_id": "8abc0123456789ab",
                "parent_span_id": "b7ad6b7169203331",
                "handoff_id": ID,
                "task_id": "t1",
                "session_id": "s1",
                "from_agent": "developer",
                "to_agent": "qa",
                "mode": "transfer",
                "reason": "needs \"tests\"\nsoon",
                "started_at": 1_000,
                "completed_at": 3_500,
                "duration_ms": 2_500,
                "outcome": "failed",
                "harness_trace_id": "h1",
            })
        );
    }

    #[test]
    fn absent_fields_are_not_logged() {
        let line = only_line(&bare(Outcome::Completed));
        assert_eq!(line["level"], "INFO");
        assert_eq!(
            line["span"],
            json!({
                "name": "AGENT_HANDOFF",
                "trace_id": "0198f3c0aaaa70008abc0123456789ab",
                "span_id": "8abc0123456789ab",
                "handoff_id": ID,
                "task_id": "t1",
                "to_agent": "qa",
                "mode": "delegate",
                "started_at": 1_000,
                "completed_at": 3_500,
                "duration_ms": 2_500,
                "outcome": "completed",
            })
        );
    }

    #[test]
    fn every_outcome_except_completed_is_a_failure() {
        for outcome in Outcome::ALL {
            let span = bare(outcome);
            let name = only_line(&span)["span"]["name"].clone();
            assert_eq!(name, span.name());
            assert_eq!(name == "AGENT_HANDOFF", outcome == Outcome::Completed);
        }
    }

    #[test]
    fn a_hand_off_is_one_log_line_that_the_filter_can_hide() {
        let both = || {
            bare(Outcome::Completed).record();
            full().record();
        };
        let shown = |filter| logged(filter, LogFormat::Text, both).lines().count();
        assert_eq!(shown("info"), 2);
        assert_eq!(shown("warn"), 1);
        assert_eq!(shown("warn,chorus::handoff=info"), 2);
        assert_eq!(shown("off"), 0);
    }

    #[test]
    fn the_current_span_is_not_part_of_the_line() {
        let lines = logged("info", LogFormat::Json, || {
            tracing::info_span!("request", secret = "hush").in_scope(|| full().record());
        });
        assert!(!lines.contains("hush"), "{lines}");
    }

    #[test]
    fn long_texts_are_cut_and_end_with_an_ellipsis() {
        let text = |letter: &str| Some(letter.repeat(501).parse().unwrap());
        let line = only_line(&HandoffSpan {
            reason: text("r"),
            ..full()
        });
        assert_eq!(line["span"]["reason"], format!("{}…", "r".repeat(500)));
    }

    #[test]
    fn a_clock_that_was_set_back_gives_no_negative_duration() {
        let span = HandoffSpan {
            completed_at: Timestamp::from_millis(500),
            ..full()
        };
        assert_eq!(span.duration_ms(), 0);
    }
}
