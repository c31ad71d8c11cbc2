//! Metrics for Prometheus.

use std::sync::OnceLock;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

/// Starts to collect metrics. Every call in a process returns the same recorder.
pub fn metrics() -> &'static PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(|| {
        let seconds = [
            0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0,
        ];
        let sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
        let recorder = PrometheusBuilder::new()
            .set_buckets(&seconds)
            .and_then(|builder| {
                let batch = metrics_exporter_prometheus::Matcher::Full(
                    "chorus_store_batch_size".to_owned(),
                );
                builder.set_buckets_for_metric(batch, &sizes)
            })
            .expect("the buckets are not empty")
            .build_recorder();
        let handle = recorder.handle();
        // An error means that a user of the library has installed another recorder.
        let _ = metrics::set_global_recorder(recorder);
        describe();
        handle
    })
}

/// Increments a gauge until it is dropped.
#[derive(Debug)]
pub struct Ongoing(&'static str);

impl Ongoing {
    pub fn begin(gauge: &'static str) -> Self {
        metrics::gauge!(gauge).increment(1);
        Self(gauge)
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        metrics::gauge!(self.0).decrement(1);
    }
}

fn describe() {
    metrics::describe_counter!(
        "chorus_http_requests_total",
        "HTTP requests answered, by route, method and status"
    );
    metrics::describe_histogram!("chorus_http_request_seconds", "Response time, by route");
    metrics::describe_gauge!("chorus_waiters", "Waiting long polls");
    metrics::describe_gauge!("chorus_event_streams", "Open event streams");
    metrics::describe_gauge!("chorus_watched", "Tasks and requests with a waiter");
    metrics::describe_histogram!("chorus_store_batch_size", "Writes per commit");
    metrics::describe_histogram!(
        "chorus_store_commit_seconds",
        "Duration of a commit, including the sync to disk"
    );
    metrics::describe_counter!("chorus_handoffs_started_total", "Hand-offs started");
    metrics::describe_counter!(
        "chorus_spans_missed_total",
        "Ended hand-offs that were not reported, because the queue was full"
    );
    metrics::describe_counter!("chorus_handoffs_ended_total", "Hand-offs ended, by outcome");
}
