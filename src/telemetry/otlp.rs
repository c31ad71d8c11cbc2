//! Sends spans to an OpenTelemetry collector.
//!
//! # How it works
//!
//! A span is built from the ledger's record of an ended hand-off, with its ids and times. The SDK's tracer generates ids and
//! reads the clock, so it is not used; finished spans go straight to the SDK's batch processor. The processor has
//! a bounded queue (`OTEL_BSP_MAX_QUEUE_SIZE`, 2048 spans) and its own thread, which sends the queue every few seconds.
//! Sending never blocks: when the queue is full, the span is dropped.

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

/// The time limit of an export, including retries.
const ANSWER: Duration = Duration::from_secs(10);
/// The time limit of the last export when the server stops.
const LAST_WAIT: Duration = Duration::from_secs(3);

/// The exporter that [`HandoffSpan::record`] uses.
static INSTALLED: OnceLock<Exporter> = OnceLock::new();

#[derive(Debug, thiserror::Error)]
pub enum ExporterError {
    /// The address is not shown, because it may contain a password.
    #[error(
        "The collector's address must be a URL that begins with http://, such as http://localhost:4318; \
         for TLS, put a collector or a proxy beside Chorus"
    )]
    Endpoint,
    #[error("The HTTP client for the collector cannot be created")]
    Client(#[source] reqwest::Error),
    #[error("The export of spans cannot be set up; check the OTEL_… variables")]
    Setup(#[from] ExporterBuildError),
}

/// Sends spans to a collector in the background.
#[derive(Debug, Clone)]
pub struct Exporter(Arc<BatchSpanProcessor>);

impl Exporter {
    /// Starts the export to the collector at a base URL, over HTTP with Protobuf. Connects only when there is a span.
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
        let mut processor = BatchSpanProcessor::builder(LoggedExporter {
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
        tracing::info!(collector, "sending spans of hand-offs to the collector");
        Ok(Self(Arc::new(processor)))
    }

    /// Makes [`HandoffSpan::record`] use this exporter. Only the first call in a process has an effect.
    pub fn install(&self) {
        // An error means that another exporter is already installed.
        let _ = INSTALLED.set(self.clone());
    }

    /// Queues a span, or drops it if the queue is full or the exporter has finished.
    fn send(&self, span: &HandoffSpan) {
        self.0.on_end(span_data(span));
    }

    /// Sends the queued spans within [`LAST_WAIT`], and stops.
    pub async fn finish(self) {
        let last = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(LAST_WAIT));
        if let Ok(Err(error)) = last.await {
            tracing::warn!(%error, "cannot send the last spans; the collector may miss some");
        }
    }
}

pub(super) fn is_installed() -> bool {
    INSTALLED.get().is_some()
}

/// Sends a span to the collector, if there is one. The caller has cut long texts.
pub(super) fn send(span: &HandoffSpan) {
    if let Some(exporter) = INSTALLED.get() {
        exporter.send(span);
    }
}

/// Appends the path for traces to the base URL, as OTLP specifies.
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

/// Creates the HTTP client on a separate thread, because reqwest's blocking client must not be created in an async runtime.
///
/// Proxies are ignored, because the collector is near. Redirects are refused, so that headers with keys go nowhere else.
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
        .expect("the builder returns errors and does not panic")
        .map_err(ExporterError::Client)
}

/// Logs once when exports begin to fail, and once when they work again.
#[derive(Debug)]
struct LoggedExporter<E> {
    exporter: E,
    collector: String,
    is_failing: AtomicBool,
}

impl<E: SpanExporter> SpanExporter for LoggedExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let result = self.exporter.export(batch).await;
        let collector = &self.collector;
        let was_failing = self.is_failing.swap(result.is_err(), Ordering::Relaxed);
        match &result {
            Err(error) if !was_failing => {
                tracing::warn!(collector, %error, "cannot send spans; dropping them until the collector answers");
            }
            Ok(()) if was_failing => tracing::info!(collector, "sending spans again"),
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

/// Converts a span to the SDK's type.
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

/// Returns the fields that have no counterpart in OpenTelemetry.
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
    fn extreme_times_never_put_the_end_before_the_start() {
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
    async fn a_silent_collector_does_not_block_sending() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let exporter = Exporter::start(&format!("http://{address}")).unwrap();
        let span = bare(Outcome::Completed);
        // A full batch is exported at once.
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
    async fn an_absent_collector_does_not_block_sending() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let exporter = Exporter::start(&format!("http://{address}")).unwrap();
        exporter.send(&bare(Outcome::Failed));
        let start = Instant::now();
        exporter.clone().finish().await;
        // After the end, spans are dropped.
        exporter.send(&bare(Outcome::Failed));
        let waited = start.elapsed();
        assert!(waited < ANSWER, "{waited:?}");
    }

    /// An exporter with scripted results.
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
    fn an_unreachable_collector_is_logged_once() {
        let mut script = vec![true, false, false, false, true, true, false];
        script.reverse();
        let exports = script.len();
        let logged_exporter = LoggedExporter {
            exporter: Scripted(script.into()),
            collector: "h:4318".to_owned(),
            is_failing: AtomicBool::new(false),
        };
        let lines = logged("info", LogFormat::Text, || {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            runtime.unwrap().block_on(async {
                for _ in 0..exports {
                    let _ = logged_exporter.export(Vec::new()).await;
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
