//! What commands read from what was typed, and from where they were started.

use std::path::Path;

use serde_json::{Map, Value};

use super::server::text_or_stdin;
use super::ui::Failure;

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
            text_or_stdin("-".to_owned())?,
            format!("standard input for {option}"),
        ),
        None => (argument.to_owned(), option.to_owned()),
    };
    // Some programs put a mark of the byte order before the text.
    match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Failure::usage(format!(
            "{from} must be a JSON object such as {{\"key\": \"value\"}}"
        ))),
        Err(error) => Err(Failure::usage(format!("{from} is not JSON: {error}"))
            .with_hint("a JSON object is given as it is, as @FILE, or as - for standard input")),
    }
}

/// Makes a path absolute, from where the user is.
pub(super) fn absolute(path: &Path) -> Result<String, Failure> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Failure::new(format!("cannot resolve {}: {error}", path.display())))?;
    Ok(absolute.to_string_lossy().into_owned())
}

/// Returns who asks, as far as the machine knows.
pub(super) fn user() -> String {
    std::env::var("USER").unwrap_or_else(|_| "anonymous".to_owned())
}
