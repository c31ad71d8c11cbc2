//! Reads the standard output of a run while its agent works.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::providers::{Reader, Report, Said};
use super::run_dir::open_plain;
use crate::domain::{MessageType, NewMessage, Text};
use crate::supervisor::RunFiles;

const PIECE: usize = 64 * 1024;

/// The maximum length of a line. A longer line is skipped instead of kept in memory.
const LONGEST_LINE: usize = 32 * 1024 * 1024;

/// The maximum length of a recorded message. The log has the full text.
const LONGEST_MESSAGE: usize = 64 * 1024;

/// Reads a run's standard output from the beginning.
pub(super) struct Follower {
    file: File,
    /// The offset of the next line.
    line_start: u64,
    partial: Vec<u8>,
    is_too_long: bool,
    reader: Box<dyn Reader>,
    /// Messages before this offset are already recorded.
    recorded_to: u64,
    /// The last error, if there was nothing but failed attempts since.
    failing: Option<String>,
    /// Whether the agent made progress after `recorded_to`.
    has_progressed: bool,
    /// Whether the agent has said or done anything.
    has_spoken: bool,
}

impl Follower {
    /// Opens the output. Lines before `recorded_to` are parsed again, but their messages are not returned again.
    pub fn open(
        files: &RunFiles,
        reader: Box<dyn Reader>,
        recorded_to: u64,
    ) -> std::io::Result<Self> {
        let mut file = open_plain(&files.stdout())?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Self {
            file,
            line_start: 0,
            partial: Vec::new(),
            is_too_long: false,
            reader,
            recorded_to,
            failing: None,
            has_progressed: false,
            has_spoken: false,
        })
    }

    /// Reads one piece. Returns its messages, or `None` at the current end of the file.
    pub fn read_piece(&mut self) -> std::io::Result<Option<Vec<NewMessage>>> {
        let mut piece = vec![0; PIECE];
        let count = self.file.read(&mut piece)?;
        if count == 0 {
            return Ok(None);
        }
        let mut said = Vec::new();
        for part in piece[..count].split_inclusive(|byte| *byte == b'\n') {
            let is_end = part.ends_with(b"\n");
            if self.partial.len() + part.len() > LONGEST_LINE {
                self.is_too_long = true;
                self.line_start += self.partial.len() as u64;
                self.partial = Vec::new();
            }
            if self.is_too_long {
                self.line_start += part.len() as u64;
            } else {
                self.partial.extend_from_slice(part);
            }
            if is_end {
                said.extend(self.end_line());
            }
        }
        Ok(Some(said))
    }

    /// Reads a last line without a newline, and tells the reader that the output has ended.
    pub fn finish(&mut self) -> Vec<NewMessage> {
        let said = if self.partial.is_empty() {
            Vec::new()
        } else {
            self.end_line()
        };
        self.reader.end_of_output();
        said
    }

    fn end_line(&mut self) -> Vec<NewMessage> {
        let bytes = std::mem::take(&mut self.partial);
        let is_told = self.line_start >= self.recorded_to;
        self.line_start += bytes.len() as u64;
        let line = if std::mem::take(&mut self.is_too_long) {
            "[line too long; see the log]".into()
        } else {
            String::from_utf8_lossy(&bytes)
        };
        let said = self.reader.line(line.strip_suffix('\n').unwrap_or(&line));
        for said in &said {
            self.has_spoken |= !matches!(said, Said::Error(_) | Said::Retry(_));
            match said {
                Said::Retry(error) => self.failing = Some(error.clone()),
                Said::Error(_) => {}
                _ => self.progress(is_told),
            }
        }
        // OpenCode and Codex begin a step before the agent says anything in it.
        if said.is_empty()
            && (line.contains("\"type\":\"step_") || line.contains("\"type\":\"item."))
        {
            self.progress(is_told);
        }
        if is_told {
            said.into_iter().map(message).collect()
        } else {
            Vec::new()
        }
    }

    fn progress(&mut self, is_new: bool) {
        self.failing = None;
        self.has_progressed |= is_new;
    }

    /// Whether the agent made progress that an earlier server did not see.
    pub const fn has_progressed(&self) -> bool {
        self.has_progressed
    }

    /// Returns the offset up to which the output has been parsed.
    pub const fn read_to(&self) -> u64 {
        self.line_start
    }

    pub fn report(&self) -> &Report {
        self.reader.report()
    }

    /// Whether the agent has said or done anything, so that its work must not be begun again.
    pub const fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// Returns the last error, if the program makes no progress.
    pub fn failing(&self) -> Option<&str> {
        self.failing.as_deref()
    }

    /// Notes a failed attempt that is not on standard output.
    pub fn fail(&mut self, error: String) {
        self.failing = Some(error);
    }
}

fn message(said: Said) -> NewMessage {
    let (message_type, content) = match said {
        Said::Text(text) => (MessageType::AssistantMessage, text),
        Said::Thinking(text) => (MessageType::Thinking, text),
        Said::ToolCall { name, input } => (MessageType::ToolCall, format!("{name} {input}")),
        Said::ToolResult {
            output,
            is_error: false,
        } => (MessageType::ToolResult, output),
        Said::ToolResult {
            output,
            is_error: true,
        } => (MessageType::ToolResult, format!("failed: {output}")),
        Said::Error(text) | Said::Retry(text) => (MessageType::Error, text),
    };
    NewMessage {
        data: None,
        message_type,
        content: Text::lossy(without_escapes(content)).beginning(LONGEST_MESSAGE),
    }
}

/// Removes the escape sequences by which programs colour their output.
fn without_escapes(text: String) -> String {
    const ESCAPE: char = '\u{1b}';
    if !text.contains(ESCAPE) {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != ESCAPE {
            plain.push(character);
            continue;
        }
        match characters.next() {
            // A control sequence ends with a letter or one of a few signs.
            Some('[') => {
                characters.find(|part| ('@'..='~').contains(part));
            }
            // A command of the operating system, such as a title, ends with BEL or ESC \.
            Some(']') => {
                while let Some(part) = characters.next() {
                    if part == '\u{7}' {
                        break;
                    }
                    if part == ESCAPE {
                        characters.next_if_eq(&'\\');
                        break;
                    }
                }
            }
            Some('(' | ')') => {
                characters.next();
            }
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_removed() {
        for (text, plain) in [
            ("no escapes [1m", "no escapes [1m"),
            (
                "\u{1b}[1;31mred\u{1b}[0m and \u{1b}[2Kplain",
                "red and plain",
            ),
            (
                "\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link",
                "alink",
            ),
            ("\u{1b}(Bascii\u{1b}7", "ascii"),
            ("cut \u{1b}[3", "cut "),
            ("ends \u{1b}", "ends "),
        ] {
            assert_eq!(without_escapes(text.to_owned()), plain, "{text:?}");
        }
    }
}
