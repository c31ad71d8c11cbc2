//! `chorus request template`

use std::path::Path;

use super::ui::{Exit, Failure, Ui};
use crate::domain::Kind;
use crate::engine::{Form, kinds_with_templates, template, template_path};

/// Prints a form. Needs neither a server nor a database.
pub(super) fn run(ui: Ui, data_dir: &Path, kind: &str, response: bool) -> Result<(), Failure> {
    let form = if response {
        Form::Response
    } else {
        Form::Request
    };
    let kind = Kind::parse(kind).map_err(|error| {
        missing(
            data_dir,
            format!("{kind:?} is not a valid kind: it {error}"),
        )
    })?;
    let found = template(data_dir, &kind, form).map_err(|error| Failure::caused(&error))?;
    if let Some(text) = found {
        return ui.text(text.trim_end());
    }
    let what = format!("no {} template for requests of kind {kind}", form.as_str());
    let own = template_path(data_dir, &kind, form);
    let advice = format!("write your own template in {}", own.display());
    Err(missing(data_dir, what).with_hint(advice))
}

/// Builds the failure for a missing form, with the kinds that have one.
fn missing(data_dir: &Path, what: String) -> Failure {
    let kinds = kinds_with_templates(data_dir);
    let kinds: Vec<_> = kinds.iter().map(Kind::as_str).collect();
    Failure {
        exit: Exit::NotFound,
        ..Failure::new(what)
    }
    .with_hint(format!("kinds with a template: {}", kinds.join(", ")))
}
