//! Writes log lines to standard error.

use std::io::{IsTerminal, Write};

use clap::ValueEnum;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Layer, Registry};

use crate::domain::is_deceptive;

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
    let lines = lines(filter, format, || Harmless(std::io::stderr()), has_colour)?;
    // An error means that a subscriber is already installed.
    let _ = tracing_subscriber::registry().with(lines).try_init();
    Ok(())
}

/// A writer that replaces characters which make a text look like another one. Errors may quote foreign text; control
/// characters in it are escaped before.
struct Harmless<W>(W);

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        match std::str::from_utf8(line) {
            Ok(text) if text.contains(is_deceptive) => {
                self.0
                    .write_all(text.replace(is_deceptive, "\u{fffd}").as_bytes())?;
                Ok(line.len())
            }
            _ => self.0.write(line),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
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

    #[test]
    fn a_log_line_cannot_reorder_its_text() {
        let mut written = Vec::new();
        let line = "cannot open safe\u{202e}txt.exe: \u{e9}\n";
        Harmless(&mut written).write_all(line.as_bytes()).unwrap();
        assert_eq!(
            String::from_utf8(written).unwrap(),
            "cannot open safe\u{fffd}txt.exe: \u{e9}\n"
        );
    }

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
