//! Log lines, metrics, and a span of every ended hand-off.
//!
//! Nothing here makes decisions or fails its caller.

mod handoff;
mod logs;
mod metrics;
#[cfg(feature = "otlp")]
mod otlp;

pub use self::logs::{IllegalFilter, LogFormat, start_logging};
pub use self::metrics::{Ongoing, metrics};
#[cfg(feature = "otlp")]
pub use self::otlp::{Exporter, ExporterError};
