//! The OpenTelemetry collector that `chorus serve` sends spans to.

use super::arguments::ServeArguments;
use super::ui::Failure;
#[cfg(feature = "otlp")]
use crate::error::with_sources;
#[cfg(feature = "otlp")]
use crate::telemetry::Exporter;

/// The variable with the address of the collector.
pub(super) const VARIABLE: &str = "CHORUS_OTLP_ENDPOINT";

/// The connection to the collector, if one is configured.
pub(super) struct Collector {
    #[cfg(feature = "otlp")]
    exporter: Option<Exporter>,
}

#[cfg(feature = "otlp")]
impl Collector {
    /// Starts to send spans if an address is configured.
    pub fn find(arguments: &ServeArguments) -> Result<Self, Failure> {
        let given = |endpoint: &String| !endpoint.is_empty();
        let exporter = if let Some(endpoint) = arguments.otlp_endpoint.clone().filter(given) {
            let exporter = Exporter::start(&endpoint).map_err(|error| Failure::caused(&error))?;
            Some(exporter)
        } else {
            std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT")
                .ok()
                .filter(given)
                .and_then(|endpoint| start_as_others(&endpoint))
        };
        if let Some(exporter) = &exporter {
            exporter.install();
        }
        Ok(Self { exporter })
    }

    /// Flushes the remaining spans.
    pub async fn finish(self) {
        if let Some(exporter) = self.exporter {
            exporter.finish().await;
        }
    }
}

/// Starts to send to the address that all programs share. It may be meant for other programs, so a bad one is only logged.
#[cfg(feature = "otlp")]
fn start_as_others(endpoint: &str) -> Option<Exporter> {
    Exporter::start(endpoint)
        .inspect_err(|error| {
            let error = with_sources(error);
            tracing::warn!(%error, "OTEL_EXPORTER_OTLP_ENDPOINT cannot be used; no spans are sent");
        })
        .ok()
}

#[cfg(not(feature = "otlp"))]
impl Collector {
    /// Warns that an address is configured in vain.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "a program that can send spans may refuse the address"
    )]
    pub fn find(_: &ServeArguments) -> Result<Self, Failure> {
        if std::env::var_os(VARIABLE).is_some_and(|endpoint| !endpoint.is_empty()) {
            tracing::warn!(
                "{VARIABLE} is set, but this program was built without the feature `otlp`; no spans are sent"
            );
        }
        Ok(Self {})
    }

    #[expect(
        clippy::unused_async,
        reason = "a program that can send spans waits here"
    )]
    pub async fn finish(self) {}
}
