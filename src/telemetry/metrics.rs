//! Numbers for Prometheus.

use std::sync::OnceLock;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

/// Begins to collect metrics; every call in a process returns the same collection.
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
        // An error means that a library user collects metrics in their own way.
        let _ = metrics::set_global_recorder(recorder);
        describe();
        handle
    })
}

/// Counts something in a gauge for as long as it goes on.
#[derive(Debug)]
pub struct Ongoing(&'static str);

impl Ongoing {
    /// Begins to count.
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
        "Requests answered, by route, method and status"
    );
    metrics::describe_histogram!(
        "chorus_http_request_seconds",
        "Time to the answer, by route"
    );
    metrics::describe_gauge!("chorus_waiters", "Long polls that wait now");
    metrics::describe_gauge!("chorus_event_streams", "Event streams that are open now");
    metrics::describe_gauge!(
        "chorus_watched",
        "Tasks and requests that somebody waits for"
    );
    metrics::describe_histogram!(
        "chorus_store_batch_size",
        "Writes that were committed together"
    );
    metrics::describe_histogram!(
        "chorus_store_commit_seconds",
        "Time of a commit, with its flush to disk"
    );
    metrics::describe_counter!("chorus_handoffs_started_total", "Hand-offs started");
    metrics::describe_counter!(
        "chorus_spans_missed_total",
        "Hand-offs that ended faster than they could be told to the log or a collector"
    );
    metrics::describe_counter!("chorus_handoffs_ended_total", "Hand-offs ended, by outcome");
}
