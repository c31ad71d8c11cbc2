//! Arguments, files and the environment, as input of a request.

use std::fmt::Display;
use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ui::Failure;
use crate::domain::{Correspondent, Source, Text};

/// Parses an argument that becomes a field of a body. The error names the field, as the server's would.
pub(super) fn field<T>(name: &str, argument: impl Into<String>) -> Result<T, Failure>
where
    T: TryFrom<String, Error: Display>,
{
    T::try_from(argument.into()).map_err(|error| Failure::usage(format!("{name}: {error}")))
}

/// Parses an optional argument like [`field`].
pub(super) fn optional<T>(
    name: &str,
    argument: Option<impl Into<String>>,
) -> Result<Option<T>, Failure>
where
    T: TryFrom<String, Error: Display>,
{
    argument.map(|text| field(name, text)).transpose()
}

/// Reads a text argument; `-` stands for standard input.
pub(super) fn text_or_stdin(argument: String) -> Result<Text, Failure> {
    if argument != "-" {
        return Ok(Text::lossy(argument));
    }
    let text = std::io::read_to_string(std::io::stdin())
        .map_err(|error| Failure::new(format!("cannot read standard input: {error}")))?;
    field("standard input", text)
}

/// Reads a text file; `-` stands for standard input.
pub(super) fn text_file(file: &Path) -> Result<Text, Failure> {
    if file == Path::new("-") {
        return text_or_stdin("-".to_owned());
    }
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
    field(&file.to_string_lossy(), text)
}

/// Reads a file of JSON, and keeps it as it is written; `-` stands for standard input.
pub(super) fn json_file(file: &Path) -> Result<Box<RawValue>, Failure> {
    let text = text_file(file)?;
    RawValue::from_string(without_mark(text.as_str()).trim().to_owned()).map_err(|error| {
        let name = match file.to_string_lossy() {
            name if name == "-" => "standard input".into(),
            name => name,
        };
        Failure::new(format!("{name} is not JSON: {error}"))
    })
}

/// Reads a JSON object from an argument, from a file (`@FILE`) or from standard input (`-`).
pub(super) fn json_object(option: &str, argument: &str) -> Result<Map<String, Value>, Failure> {
    let (text, from) = match argument.strip_prefix('@') {
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(|error| {
                Failure::usage(format!("{option}: cannot read {file}: {error}"))
            })?;
            (text, format!("{file} in {option}"))
        }
        None if argument == "-" => (
            text_or_stdin("-".to_owned())?.into_string(),
            format!("standard input for {option}"),
        ),
        None => (argument.to_owned(), option.to_owned()),
    };
    match serde_json::from_str(without_mark(&text)) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Failure::usage(format!(
            "{from} must be a JSON object such as {{\"key\": \"value\"}}"
        ))),
        Err(error) => Err(
            Failure::usage(format!("{from} is not JSON: {error}")).with_hint(
                "write the object itself, @FILE to read a file, or - to read standard input",
            ),
        ),
    }
}

/// Drops the byte order mark that some programs write before the text.
fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

/// Makes a path absolute, from the working directory of the user.
pub(super) fn absolute(path: &Path) -> Result<Text, Failure> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Failure::new(format!("cannot resolve {}: {error}", path.display())))?;
    Ok(Text::lossy(absolute.to_string_lossy().into_owned()))
}

/// Returns the name of the user, as far as the machine knows it.
pub(super) fn user() -> Text {
    Text::lossy(std::env::var("USER").unwrap_or_else(|_| Correspondent::ANONYMOUS.to_owned()))
}

/// Returns the source of work that is created on the command line.
pub(super) fn source() -> Source {
    Source {
        source_type: Text::lossy("cli".to_owned()),
        user_id: user(),
        conversation_id: None,
    }
}
