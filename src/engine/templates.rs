//! The forms of requests and responses.

use std::path::Path;

use crate::domain::Kind;

/// Which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// That of a response.
    Response,
}

/// Finds a form.
pub fn template(_: &Path, _: &Kind, _: Form) -> std::io::Result<Option<String>> {
    Ok(None)
}
