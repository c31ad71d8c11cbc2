//! Output of the command line: for a person on a terminal, plain when piped.

mod failure;
mod progress;
mod table;
mod text;

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};

pub(super) use failure::{Exit, Failure};
pub(super) use progress::ProgressBar;
pub(super) use table::Table;
pub(super) use text::{
    closest, cost, duration, excerpt, is_id, one_line, outcome, party, printable, time, usage,
};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();

/// The only place that prints.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ui;

impl Ui {
    /// Prints a line to standard output.
    #[expect(clippy::unused_self, reason = "printing is what a Ui is for")]
    pub fn line(self, line: impl std::fmt::Display) -> Result<(), Failure> {
        printed(writeln!(anstream::stdout(), "{line}"))
    }

    /// Prints foreign text: without control characters on a terminal, unchanged in a pipe.
    #[expect(clippy::unused_self, reason = "printing is what a Ui is for")]
    pub fn text(self, text: &str) -> Result<(), Failure> {
        let mut stdout = std::io::stdout();
        printed(if stdout.is_terminal() {
            writeln!(stdout, "{}", printable(text))
        } else {
            writeln!(stdout, "{text}")
        })
    }

    /// Prints bytes unchanged to standard output.
    #[expect(clippy::unused_self, reason = "printing is what a Ui is for")]
    pub fn bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = std::io::stdout();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(|error| Failure::new(format!("cannot print: {error}"))),
        }
    }

    /// Prints a table to standard output: aligned for a person, separated by tabs for a program.
    pub fn table(self, table: &Table) -> Result<(), Failure> {
        let is_terminal = std::io::stdout().is_terminal();
        match table.is_empty() {
            true if is_terminal => self.notice(table.nothing()),
            true => {}
            false if is_terminal => self.line(table.aligned())?,
            false => self.line(table.separated())?,
        }
        Ok(())
    }

    /// Prints pairs, one per line: separated by spaces for a person, by a tab for a program.
    pub fn pairs(self, pairs: impl IntoIterator<Item = (String, String)>) -> Result<(), Failure> {
        let gap = if std::io::stdout().is_terminal() {
            "  "
        } else {
            "\t"
        };
        let mut text = String::new();
        for (one, other) in pairs {
            text.extend([&one, gap, &other]);
            text.push('\n');
        }
        self.bytes(text.as_bytes())
    }

    /// Prints a notice to standard error.
    #[expect(clippy::unused_self, reason = "printing is what a Ui is for")]
    pub fn notice(self, notice: impl std::fmt::Display) {
        // A notice that cannot be printed is not worth failing for.
        let _ = writeln!(anstream::stderr(), "{notice}");
    }

    /// Prints a failure and its hints, and returns its exit code.
    pub fn fail(self, failure: &Failure) -> ExitCode {
        if failure.message.is_empty() {
            return failure.exit.into();
        }
        self.notice(format_args!(
            "{ERROR}error:{ERROR:#} {}",
            printable(&failure.message)
        ));
        for hint in &failure.hints {
            self.notice(format_args!("{HINT}hint:{HINT:#} {}", printable(hint)));
        }
        failure.exit.into()
    }
}

/// Ignores a reader that closed its end of the pipe.
fn printed(result: std::io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| Failure::new(format!("cannot print: {error}"))),
    }
}
