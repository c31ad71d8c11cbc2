//! What Chorus tells about itself: log lines, metrics, and a span of every hand-off that ended.
//!
//! Nothing here decides anything, and nothing here fails whoever tells.

mod handoff;
mod logs;
mod metrics;
#[cfg(feature = "otlp")]
mod otlp;

pub use self::logs::{IllegalFilter, LogFormat, start_logging};
pub use self::metrics::{Ongoing, metrics};
#[cfg(feature = "otlp")]
pub use self::otlp::{Exporter, ExporterError};
