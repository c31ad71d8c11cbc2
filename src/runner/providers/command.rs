//! Any program. Its output is the answer.

use serde_json::Value;

use super::{Reader, Report, Said, object};
use crate::domain::OutputForm;

/// The maximum length of an answer. The log has the full output.
const LONGEST_ANSWER: usize = 1024 * 1024;

/// The maximum number of lines that become messages, so that a program that never stops printing does not fill the ledger.
const MOST_MESSAGES: usize = 1000;

#[derive(Debug, Default)]
pub struct CommandReader {
    form: OutputForm,
    report: Report,
    answer: String,
    has_begun: bool,
    left_out: usize,
    messages: usize,
}

impl CommandReader {
    pub fn new(form: OutputForm) -> Self {
        Self {
            form,
            ..Self::default()
        }
    }

    fn append(&mut self, line: &str) {
        if std::mem::replace(&mut self.has_begun, true) {
            self.add("\n");
        }
        self.add(line);
    }

    /// Appends the text up to the limit, and counts the dropped bytes.
    fn add(&mut self, text: &str) {
        let room = if self.left_out > 0 {
            0
        } else {
            LONGEST_ANSWER.saturating_sub(self.answer.len())
        };
        let end = text.floor_char_boundary(room);
        self.answer.push_str(&text[..end]);
        self.left_out += text.len() - end;
    }

    fn replace(&mut self, text: &str) {
        self.answer.clear();
        self.left_out = 0;
        self.add(text);
    }
}

impl Reader for CommandReader {
    fn line(&mut self, line: &str) -> Vec<Said> {
        let mut message = line.to_owned();
        match self.form.clone() {
            OutputForm::All => self.append(line),
            OutputForm::LastLine if !line.trim().is_empty() => {
                self.replace(line.trim_end());
            }
            OutputForm::LastLine => {}
            OutputForm::JsonField(field) => {
                if let Some(value) = object(line).map(|mut object| object[field.as_str()].take())
                    && !value.is_null()
                {
                    message = match value {
                        Value::String(text) => text,
                        other => other.to_string(),
                    };
                    self.replace(&message);
                }
            }
        }
        self.messages += 1;
        match self.messages {
            0..MOST_MESSAGES if message.trim().is_empty() => Vec::new(),
            0..MOST_MESSAGES => vec![Said::Text(message)],
            MOST_MESSAGES => vec![Said::Text("[more output in the log]".to_owned())],
            _ => Vec::new(),
        }
    }

    fn end_of_output(&mut self) {
        let answer = std::mem::take(&mut self.answer);
        let answer = match self.left_out {
            0 => answer,
            bytes => format!("{answer}\n[cut off; {bytes} B more in the log]"),
        };
        self.report.end = Some(Ok(answer));
    }

    fn report(&self) -> &Report {
        &self.report
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ProcessEnd, judge};
    use super::*;
    use crate::domain::Outcome;

    fn answer(form: &str, output: &str) -> String {
        let mut reader = CommandReader::new(OutputForm::try_from(form.to_owned()).unwrap());
        for line in output.lines() {
            reader.line(line);
        }
        reader.end_of_output();
        judge(reader.report(), ProcessEnd::Exited(0), "").output
    }

    #[test]
    fn the_output_form_selects_the_answer() {
        assert_eq!(answer("all", "\n\none\n\ntwo\n"), "\n\none\n\ntwo");
        assert_eq!(answer("last_line", "one\ntwo\n\n"), "two");
        assert_eq!(
            answer(
                "json:text",
                "{\"text\": \"a\"}\nnoise\n{\"other\": 1}\n{\"text\": {\"b\": 1}}"
            ),
            "{\"b\":1}"
        );
        for form in ["json:", "xml", ""] {
            assert!(OutputForm::try_from(form.to_owned()).is_err(), "{form}");
        }
    }

    #[test]
    fn a_message_is_the_text_of_the_field_and_not_its_json() {
        let mut reader = CommandReader::new(OutputForm::JsonField("text".to_owned()));
        for (line, message) in [
            ("a step", "a step"),
            (r#"{"text": "a\nb"}"#, "a\nb"),
            (r#"{"text": 7}"#, "7"),
            (r#"{"other": 1}"#, r#"{"other": 1}"#),
        ] {
            assert_eq!(
                reader.line(line),
                [Said::Text(message.to_owned())],
                "{line}"
            );
        }
    }

    #[test]
    fn a_program_without_output_has_failed() {
        let mut reader = CommandReader::default();
        reader.end_of_output();
        assert_eq!(
            judge(reader.report(), ProcessEnd::Exited(0), "").outcome,
            Outcome::Failed
        );
    }

    #[test]
    fn a_long_output_is_cut_with_a_note() {
        let mut reader = CommandReader::default();
        let line = "x".repeat(1000);
        let said: usize = (0..3000).map(|_| reader.line(&line).len()).sum();
        reader.end_of_output();
        assert_eq!(said, MOST_MESSAGES);
        let answer = reader.report().end.clone().unwrap().unwrap();
        assert!(answer.len() < LONGEST_ANSWER + 100 && answer.ends_with("B more in the log]"));
    }
}
