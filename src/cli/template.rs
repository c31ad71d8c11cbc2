//! `chorus request template`

use std::path::Path;

use super::ui::{Failure, Ui};

/// Prints a form.
pub(super) fn run(_: Ui, _: &Path, kind: &str, _: bool) -> Result<(), Failure> {
    Err(Failure::new(format!("there is no form for {kind}")))
}
