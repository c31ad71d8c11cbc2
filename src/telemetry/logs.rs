//! Writes log lines to standard error.

use std::io::IsTerminal;

use clap::ValueEnum;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Layer, Registry};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Readable lines
    Text,
    /// One JSON object per line
    Json,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "Log filter {filter:?} is invalid; write a level, or target=level pairs, such as `info,chorus=debug`"
)]
pub struct IllegalFilter {
    filter: String,
}

/// Starts logging to standard error. Only the first call in a process has an effect.
pub fn start_logging(filter: &str, format: LogFormat) -> Result<(), IllegalFilter> {
    let has_colour = std::io::stderr().is_terminal();
    let lines = lines(filter, format, std::io::stderr, has_colour)?;
    // An error means that a subscriber is already installed.
    let _ = tracing_subscriber::registry().with(lines).try_init();
    Ok(())
}

fn lines(
    filter: &str,
    format: LogFormat,
    writer: impl for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
    has_colour: bool,
) -> Result<impl Layer<Registry>, IllegalFilter> {
    let targets: Targets = filter.parse().map_err(|_| IllegalFilter {
        filter: filter.to_owned(),
    })?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(has_colour);
    Ok(match format {
        LogFormat::Text => lines.with_filter(targets).boxed(),
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_filter(targets)
            .boxed(),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::{Read, Seek};
    use std::sync::Arc;

    use super::*;

    /// Runs `act`, and returns the log lines that this thread wrote meanwhile.
    pub fn logged(filter: &str, format: LogFormat, act: impl FnOnce()) -> String {
        let mut file = tempfile::tempfile().unwrap();
        let writer = Arc::new(file.try_clone().unwrap());
        let lines = lines(filter, format, writer, false).unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), act);
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }
}
