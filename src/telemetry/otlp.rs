//! Spans for an OpenTelemetry collector.
//!
//! # How it works
//!
//! A span is made from what the ledger says of a hand-off that ended: its ids and times are facts. The SDK's tracer
//! gives out ids and reads the clock, so it is not used; finished spans go straight to the SDK's batch processor.
//! That one has a bounded queue (`OTEL_BSP_MAX_QUEUE_SIZE`, 2048 spans) and a thread of its own, which sends
//! what has come in every few seconds. Whoever sends a span only tries to put it in the queue; when the queue is full,
//! the span is left out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, TraceId};
use opentelemetry_otlp::{ExporterBuildError, Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, SpanData, SpanEvents, SpanExporter, SpanLinks, SpanProcessor,
};
use reqwest::blocking::Client;

use crate::domain::HandoffSpan;
use crate::domain::{self, AgentName, Text, Timestamp};

/// How long the collector may take to answer, with all that is tried again.
const ANSWER: Duration = Duration::from_secs(10);
/// How long the end of the server may wait for the collector.
const LAST_WAIT: Duration = Duration::from_secs(3);

/// Where [`HandoffSpan::record`] sends to.
static INSTALLED: OnceLock<Exporter> = OnceLock::new();

/// Why spans cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExporterError {
    /// The address is not one that can be sent to. It is not shown, because it may carry a password.
    #[error(
        "the address of the collector must be a URL that begins with http://, such as http://localhost:4318; \
         for TLS, put a collector or a proxy beside Chorus"
    )]
    Endpoint,
    /// The HTTP client cannot be made.
    #[error("cannot make a client of the collector")]
    Client(#[source] reqwest::Error),
    /// A setting in the environment cannot be used.
    #[error("cannot set up the export of spans")]
    Setup(#[from] ExporterBuildError),
}

/// Sends spans to a collector, in the background.
#[derive(Debug, Clone)]
pub struct Exporter(Arc<BatchSpanProcessor>);

impl Exporter {
    /// Begins to send to the collector at a base URL, over HTTP in Protobuf. Nothing is sent before there is a span.
    pub fn start(endpoint: &str) -> Result<Self, ExporterError> {
        let endpoint = traces_url(endpoint)?;
        let collector = endpoint.authority().rsplit('@').next().unwrap_or_default();
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(client()?)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint.as_str())
            .with_timeout(ANSWER)
            .build()?;
        let mut processor = BatchSpanProcessor::builder(Outspoken {
            exporter,
            collector: collector.to_owned(),
            is_failing: AtomicBool::new(false),
        })
        .build();
        let resource = Resource::builder()
            .with_service_name("chorus")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        processor.set_resource(&resource);
        tracing::info!(collector, "spans of hand-offs are sent");
        Ok(Self(Arc::new(processor)))
    }

    /// Makes this the one that [`HandoffSpan::record`] sends to. The first call in a process decides.
    pub fn install(&self) {
        // An error means that another one is there already.
        let _ = INSTALLED.set(self.clone());
    }

    /// Puts a span in the queue; leaves it out if the queue is full, or after the end.
    fn send(&self, span: &HandoffSpan) {
        self.0.on_end(span_data(span));
    }

    /// Sends what is in the queue, but waits only a moment for it, and ends.
    pub async fn finish(self) {
        let last = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(LAST_WAIT));
        if let Ok(Err(error)) = last.await {
            tracing::warn!(%error, "the last spans may not have reached the collector");
        }
    }
}

/// Tells whether there is a collector.
pub(super) fn is_installed() -> bool {
    INSTALLED.get().is_some()
}

/// Sends a span, whose texts are short already, to the collector, if there is one.
pub(super) fn send(span: &HandoffSpan) {
    if let Some(exporter) = INSTALLED.get() {
        exporter.send(span);
    }
}

/// Returns where traces go, as OTLP says: below the base URL.
fn traces_url(endpoint: &str) -> Result<reqwest::Url, ExporterError> {
    let mut url = reqwest::Url::parse(endpoint).map_err(|_| ExporterError::Endpoint)?;
    if url.scheme() != "http" {
        return Err(ExporterError::Endpoint);
    }
    url.path_segments_mut()
        .map_err(|()| ExporterError::Endpoint)?
        .pop_if_empty()
        .extend(["v1", "traces"]);
    Ok(url)
}

/// Makes the HTTP client, on a thread of its own: it must not be made inside an async runtime.
///
/// The collector is near, so no proxy of the environment is asked, and headers with keys follow no redirect.
fn client() -> Result<Client, ExporterError> {
    let build = || {
        Client::builder()
            .timeout(ANSWER)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
    };
    std::thread::spawn(build)
        .join()
        .expect("a client that cannot be made is an error, not a panic")
        .map_err(ExporterError::Client)
}

/// Says once that the collector cannot be reached, and once that it can be again.
#[derive(Debug)]
struct Outspoken<E> {
    exporter: E,
    collector: String,
    is_failing: AtomicBool,
}

impl<E: SpanExporter> SpanExporter for Outspoken<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let result = self.exporter.export(batch).await;
        let collector = &self.collector;
        let was_failing = self.is_failing.swap(result.is_err(), Ordering::Relaxed);
        match &result {
            Err(error) if !was_failing => {
                tracing::warn!(collector, %error, "cannot send spans; they are left out until it works again");
            }
            Ok(()) if was_failing => tracing::info!(collector, "spans are sent again"),
            _ => {}
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// Returns the span in the words of OpenTelemetry.
fn span_data(span: &HandoffSpan) -> SpanData {
    let span_id = |id: &domain::SpanId| SpanId::from_hex(id.as_str()).expect("it is 16 hex digits");
    let trace_id = TraceId::from_hex(span.trace_id.as_str()).expect("it is 32 hex digits");
    let parent = span.parent_span_id.as_ref();
    let start_time = system_time(span.started_at);
    let status = if span.has_failed() {
        Status::error(span.outcome.as_str())
    } else {
        Status::Unset
    };
    SpanData {
        span_context: SpanContext::new(
            trace_id,
            span_id(&span.span_id),
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        ),
        parent_span_id: parent.map_or(SpanId::INVALID, span_id),
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: span.name().into(),
        start_time,
        end_time: start_time.max(system_time(span.completed_at)),
        attributes: attributes(span),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status,
        instrumentation_scope: InstrumentationScope::builder("chorus").build(),
    }
}

/// Returns what OpenTelemetry has no place of its own for.
fn attributes(span: &HandoffSpan) -> Vec<KeyValue> {
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.as_str().to_owned());
    [
        ("chorus.handoff_id", Some(span.handoff_id.to_string())),
        ("chorus.task_id", Some(span.task_id.to_string())),
        ("chorus.session_id", text(&span.session_id)),
        (
            "chorus.from_agent",
            span.from_agent.as_ref().map(AgentName::to_string),
        ),
        ("chorus.to_agent", Some(span.to_agent.to_string())),
        ("chorus.mode", Some(span.mode.as_str().to_owned())),
        ("chorus.reason", text(&span.reason)),
        ("chorus.outcome", Some(span.outcome.as_str().to_owned())),
        ("chorus.harness_trace_id", text(&span.harness_trace_id)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some(KeyValue::new(name, value?)))
    .collect()
}

fn system_time(time: Timestamp) -> SystemTime {
    let millis = u64::try_from(time.as_millis()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use opentelemetry_sdk::error::OTelSdkError;
    use tokio::net::TcpListener;

    use super::super::LogFormat;
    use super::super::handoff::tests::bare;
    use super::super::logs::tests::logged;
    use super::*;
    use crate::domain::Outcome;

    #[test]
    fn traces_go_below_the_base_url() {
        for (endpoint, url) in [
            ("http://localhost:4318", "http://localhost:4318/v1/traces"),
            ("http://localhost:4318/", "http://localhost:4318/v1/traces"),
            ("http://h/a/b?key=k", "http://h/a/b/v1/traces?key=k"),
            ("http://h/a/", "http://h/a/v1/traces"),
        ] {
            assert_eq!(traces_url(endpoint).unwrap().as_str(), url);
        }
        for endpoint in ["", "localhost:4318", "https://h", "unix:/socket", "http://"] {
            assert!(traces_url(endpoint).is_err(), "{endpoint:?}");
        }
    }

    #[test]
    fn times_that_no_clock_shows_do_no_harm() {
        for (start, end) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (-1, -2)] {
            let data = span_data(&HandoffSpan {
                started_at: Timestamp::from_millis(start),
                completed_at: Timestamp::from_millis(end),
                ..bare(Outcome::Completed)
            });
            assert!(data.start_time <= data.end_time);
        }
    }

    #[tokio::test]
    async fn a_collector_that_does_not_answer_keeps_nobody_waiting() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let exporter = Exporter::start(&format!("http://{address}")).unwrap();
        let span = bare(Outcome::Completed);
        // A whole batch is sent at once.
        for _ in 0..512 {
            exporter.send(&span);
        }
        let (_unanswered, _) = listener.accept().await.unwrap();
        let start = Instant::now();
        for _ in 0..10_000 {
            exporter.send(&span);
        }
        exporter.finish().await;
        let waited = start.elapsed();
        assert!(waited < ANSWER, "{waited:?}");
    }

    #[tokio::test]
    async fn a_collector_that_is_not_there_keeps_nobody_waiting() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let exporter = Exporter::start(&format!("http://{address}")).unwrap();
        exporter.send(&bare(Outcome::Failed));
        let start = Instant::now();
        exporter.clone().finish().await;
        // After the end, a span is left out.
        exporter.send(&bare(Outcome::Failed));
        let waited = start.elapsed();
        assert!(waited < ANSWER, "{waited:?}");
    }

    /// An exporter whose exports end as it is told.
    #[derive(Debug)]
    struct Scripted(std::sync::Mutex<Vec<bool>>);

    impl SpanExporter for Scripted {
        async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
            match self.0.lock().unwrap().pop() {
                Some(true) => Ok(()),
                _ => Err(OTelSdkError::InternalFailure("unreachable".to_owned())),
            }
        }
    }

    #[test]
    fn an_unreachable_collector_is_one_warning() {
        let mut script = vec![true, false, false, false, true, true, false];
        script.reverse();
        let exports = script.len();
        let outspoken = Outspoken {
            exporter: Scripted(script.into()),
            collector: "h:4318".to_owned(),
            is_failing: AtomicBool::new(false),
        };
        let lines = logged("info", LogFormat::Text, || {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            runtime.unwrap().block_on(async {
                for _ in 0..exports {
                    let _ = outspoken.export(Vec::new()).await;
                }
            });
        });
        let levels: Vec<_> = lines
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1))
            .collect();
        assert_eq!(levels, ["WARN", "INFO", "WARN"], "{lines}");
    }
}
