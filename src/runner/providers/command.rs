//! Any program: what it prints is its answer.

use serde_json::Value;

use super::{Reader, Report, Said, object};
use crate::domain::OutputForm;

/// The longest answer that is kept; the log has all of it.
const LONGEST_ANSWER: usize = 1024 * 1024;

/// How many lines become messages; a program that prints without end must not fill the ledger.
const MOST_MESSAGES: usize = 1000;

/// Reads the lines of any program.
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
    /// Makes a reader for a form of output.
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

    /// Adds what fits, and counts the rest.
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

    /// Takes a text as the whole answer so far.
    fn replace(&mut self, text: &str) {
        self.answer.clear();
        self.left_out = 0;
        self.add(text);
    }
}

impl Reader for CommandReader {
    fn line(&mut self, line: &str) -> Vec<Said> {
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
                    match value {
                        Value::String(text) => self.replace(&text),
                        other => self.replace(&other.to_string()),
                    }
                }
            }
        }
        self.messages += 1;
        match self.messages {
            0..MOST_MESSAGES if line.trim().is_empty() => Vec::new(),
            0..MOST_MESSAGES => vec![Said::Text(line.to_owned())],
            MOST_MESSAGES => vec![Said::Text(
                "There is more; the log has all of it".to_owned(),
            )],
            _ => Vec::new(),
        }
    }

    fn end_of_output(&mut self) {
        let answer = std::mem::take(&mut self.answer);
        let answer = match self.left_out {
            0 => answer,
            bytes => format!("{answer}\n[{bytes} more bytes are in the log]"),
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
    fn the_form_says_what_the_answer_is() {
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
    fn a_program_that_says_nothing_has_failed() {
        let mut reader = CommandReader::default();
        reader.end_of_output();
        assert_eq!(
            judge(reader.report(), ProcessEnd::Exited(0), "").outcome,
            Outcome::Failed
        );
    }

    #[test]
    fn a_flood_is_cut_and_says_so() {
        let mut reader = CommandReader::default();
        let line = "x".repeat(1000);
        let said: usize = (0..3000).map(|_| reader.line(&line).len()).sum();
        reader.end_of_output();
        assert_eq!(said, MOST_MESSAGES);
        let answer = reader.report().end.clone().unwrap().unwrap();
        assert!(
            answer.len() < LONGEST_ANSWER + 100 && answer.ends_with("more bytes are in the log]")
        );
    }
}
