//! Checks titles, which lists show on one line.

use super::Result;
use crate::domain::Text;
use crate::error::Error;

/// The maximum length in bytes.
const LONGEST: usize = 1000;

/// Checks a title. The error names `elsewhere`, the field for longer text.
pub(super) fn check_title(title: &Text, elsewhere: &str) -> Result<()> {
    let problem = if title.is_blank() {
        "must not be empty".to_owned()
    } else if title.as_str().len() > LONGEST {
        format!("must not be longer than {LONGEST} bytes; put the rest into the {elsewhere}")
    } else if title.as_str().contains(['\n', '\r']) {
        format!("must be one line; put the rest into the {elsewhere}")
    } else {
        return Ok(());
    };
    Err(Error::InvalidBody(format!("title: {problem}")))
}
