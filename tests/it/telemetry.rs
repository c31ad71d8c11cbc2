//! Spans that are exported to a collector.

use chorus::domain::HandoffSpan;
use chorus::domain::{
    AgentName, Door, Handoff, HandoffId, Outcome, SpanId, Task, TaskId, Timestamp, TraceId,
    TraceParent,
};
use chorus::telemetry::Exporter;
use reqwest::Method;
use serde_json::json;

use crate::support::collector::{Collector, hex};
use crate::support::{Sandbox, create_task, last_handoff_id, wait_for_end};

#[tokio::test]
async fn a_hand_off_is_exported_with_all_its_attributes() {
    let collector = Collector::start().await;
    let exporter = Exporter::start(&collector.url).unwrap();
    exporter.install();
    let caller: TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        .parse()
        .unwrap();
    let (failed, completed) = (HandoffId::new(), HandoffId::new());
    let failure = HandoffSpan {
        trace_id: caller.trace_id.clone(),
        span_id: SpanId::from(&failed),
        parent_span_id: Some(caller.parent_id.clone()),
        handoff_id: failed.clone(),
        task_id: TaskId::parse("t1").unwrap(),
        session_id: Some("s1".parse().unwrap()),
        from_agent: Some(AgentName::parse("developer").unwrap()),
        to_agent: AgentName::parse("qa").unwrap(),
        mode: Door::Transfer,
        reason: Some("r".repeat(600).parse().unwrap()),
        started_at: Timestamp::from_millis(1_767_225_600_001),
        completed_at: Timestamp::from_millis(1_767_225_602_500),
        outcome: Outcome::TimedOut,
        harness_trace_id: Some("h1".parse().unwrap()),
    };
    let success = HandoffSpan {
        trace_id: TraceId::from(&completed),
        span_id: SpanId::from(&completed),
        parent_span_id: None,
        handoff_id: completed,
        session_id: None,
        from_agent: None,
        reason: None,
        outcome: Outcome::Completed,
        harness_trace_id: None,
        ..failure.clone()
    };
    failure.record();
    success.record();
    exporter.finish().await;

    let [received] = &collector.spans(failure.span_id.as_str())[..] else {
        panic!("the span was not received exactly once");
    };
    let span = &received.span;
    assert_eq!(
        (&*span.name, span.kind),
        ("HANDOFF_FAILURE", 1),
        "1 is internal"
    );
    assert_eq!(hex(&span.trace_id), caller.trace_id.as_str());
    assert_eq!(hex(&span.parent_span_id), caller.parent_id.as_str());
    assert_eq!(span.start_time_unix_nano, 1_767_225_600_001_000_000);
    assert_eq!(span.end_time_unix_nano, 1_767_225_602_500_000_000);
    let status = span.status.clone().unwrap();
    assert_eq!(
        (status.code, &*status.message),
        (2, failure.outcome.as_str()),
        "2 is error"
    );
    let (cut, id) = (format!("{}…", "r".repeat(500)), failed.as_str());
    let expected = [
        ("chorus.from_agent", "developer"),
        ("chorus.handoff_id", id),
        ("chorus.harness_trace_id", "h1"),
        ("chorus.mode", "transfer"),
        ("chorus.outcome", "timed_out"),
        ("chorus.reason", &cut),
        ("chorus.session_id", "s1"),
        ("chorus.task_id", "t1"),
        ("chorus.to_agent", "qa"),
    ];
    let attributes = span.attributes();
    let attributes: Vec<_> = attributes.iter().map(|(k, v)| (&**k, &**v)).collect();
    assert_eq!(attributes, expected);
    assert_eq!(received.resource["service.name"], "chorus");
    assert_eq!(
        received.resource["service.version"],
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(received.headers["content-type"], "application/x-protobuf");

    let [received] = &collector.spans(success.span_id.as_str())[..] else {
        panic!("the span was not received exactly once");
    };
    let span = &received.span;
    assert_eq!(span.name, "AGENT_HANDOFF");
    assert_eq!(hex(&span.trace_id), success.trace_id.as_str());
    assert!(span.parent_span_id.is_empty());
    assert_eq!(span.status.clone().unwrap_or_default().code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_hand_offs_is_exported_as_one_trace() {
    let collector = Collector::start().await;
    let call = r#"curl -s -H "Authorization: Bearer $CHORUS_TOKEN" "$CHORUS_URL/api/tasks/$CHORUS_TASK_ID/tools/to_b" -d '{}' >answer"#;
    let sandbox = Sandbox::new()
        .with_agent("a", call)
        .with_agent("b", "echo out of ideas >&2; exit 3");
    let server = sandbox.serve_with(1, &["--port", "0", "--otlp-endpoint", &collector.url]);
    let client = server.client();
    let tool = json!({ "name": "to_b", "description": "d", "targetAgent": "b" });
    server
        .operator()
        .send_json(Method::POST, "/api/tools", &tool)
        .await
        .unwrap();
    let created = create_task(&client).await;
    let started = client
        .request(Method::POST, &format!("/api/tasks/{}/handoff", created.id))
        .header(
            "traceparent",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        )
        .json(&json!({ "agentName": "a", "prompt": "secret prompt", "reason": "because" }));
    let started: Task = client.send(started).await.unwrap().data().unwrap();
    let first = wait_for_end(&client, last_handoff_id(&started)).await;
    let second = wait_for_end(&client, first.transferred_to.as_ref().unwrap()).await;
    // The server exports all ended hand-offs before it exits.
    assert!(server.stop().success());
    let span_of = |handoff: &Handoff| {
        let received = collector.spans(SpanId::from(&handoff.id).as_str());
        let [received] = &received[..] else {
            panic!("{} spans of {}", received.len(), handoff.id)
        };
        received.span.clone()
    };
    let (first_span, second_span) = (span_of(&first), span_of(&second));
    assert_eq!(first_span.name, "AGENT_HANDOFF");
    assert_eq!(second_span.name, "HANDOFF_FAILURE");
    for span in [&first_span, &second_span] {
        assert_eq!(hex(&span.trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
        let text = format!("{span:?}");
        assert!(!text.contains("secret prompt") && !text.contains("out of ideas"));
    }
    assert_eq!(hex(&first_span.parent_span_id), "00f067aa0ba902b7");
    assert_eq!(second_span.parent_span_id, first_span.id);
    assert_eq!(first_span.attributes()["chorus.reason"], "because");
    assert_eq!(second_span.attributes()["chorus.outcome"], "failed");
    let millis = u64::try_from(second.started_at.as_millis()).unwrap();
    assert_eq!(second_span.start_time_unix_nano, millis * 1_000_000);
}
