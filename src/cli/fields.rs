//! Names of the command line for fields of the API: a person typed `--spec`, not `specPath`.

use clap::{Arg, ArgMatches, Command};

use super::arguments::{self, value_name};
use super::ui::Failure;

/// Replaces the fields in a failure by the arguments of the command that was called.
pub(super) fn reword(matches: &ArgMatches, mut failure: Failure) -> Failure {
    let command = arguments::of(matches);
    if failure.problems.is_empty() {
        if let Some((field, rest)) = failure.message.split_once(": ")
            && let Some(argument) = argument(&command, field)
        {
            failure.message = format!("{argument}: {rest}");
        }
        return failure;
    }
    let problems = failure.problems.iter().map(|problem| {
        let argument = argument(&command, &problem.field);
        let name = argument.unwrap_or_else(|| problem.field.clone());
        format!("{name}: {}", problem.message)
    });
    failure.message = problems.collect::<Vec<_>>().join("; ");
    failure
}

/// Finds the argument that sets a field: by its name, or by the beginning or the end of it.
fn argument(command: &Command, field: &str) -> Option<String> {
    let is_name = |character: char| character.is_ascii_alphanumeric();
    let (field, below) = field.split_at(field.find(['.', '[']).unwrap_or(field.len()));
    let field = kebab(field);
    if field.is_empty() || !field.chars().all(|part| is_name(part) || part == '-') {
        return None;
    }
    let matching = |matches: fn(&str, &str) -> bool| {
        command
            .get_arguments()
            .find(|argument| names(argument).any(|name| matches(&field, &name)))
    };
    let found = matching(|field, name| field == name)
        .or_else(|| matching(has_end))
        .or_else(|| matching(has_beginning))?;
    let name = match found.get_long() {
        Some(long) => format!("--{long}"),
        None => value_name(found),
    };
    Some(match below.trim_start_matches('.') {
        "" => name,
        below => format!("{name} {below}"),
    })
}

/// Returns the long name, or the name of a positional argument; both are as an API field would be in kebab case.
fn names(argument: &Arg) -> impl Iterator<Item = String> {
    let long = argument.get_long().map(str::to_owned);
    let positional = argument.is_positional();
    let id = positional.then(|| argument.get_id().as_str().replace('_', "-"));
    long.into_iter().chain(id)
}

fn has_end(field: &str, name: &str) -> bool {
    field
        .strip_suffix(name)
        .is_some_and(|rest| rest.ends_with('-'))
}

fn has_beginning(field: &str, name: &str) -> bool {
    field
        .strip_prefix(name)
        .is_some_and(|rest| rest.starts_with('-'))
}

/// Writes `specPath` as `spec-path`.
fn kebab(field: &str) -> String {
    let mut kebab = String::new();
    for character in field.chars() {
        if character.is_ascii_uppercase() {
            kebab.push('-');
        }
        kebab.push(character.to_ascii_lowercase());
    }
    kebab
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_becomes_the_argument_that_sets_it() {
        let command = arguments::command();
        let below = |path: &[&str]| {
            let below = path
                .iter()
                .try_fold(&command, |command, name| command.find_subcommand(name));
            below.unwrap().clone()
        };
        for (path, field, expected) in [
            (&["agent", "create"][..], "specPath", Some("--spec")),
            (&["agent", "create"], "maxSeconds", Some("--max-seconds")),
            (&["task", "create"], "agentWorkspace", Some("--workspace")),
            (&["task", "create"], "specialistTags", Some("--tags")),
            (
                &["task", "create"],
                "agentContext.attempts",
                Some("--agent-context attempts"),
            ),
            (&["task", "create"], "description", Some("DESCRIPTION")),
            (&["handoff"], "agentName", Some("AGENT")),
            (&["handoff"], "prompt", Some("PROMPT")),
            (&["mail", "send"], "to", Some("RECIPIENT")),
            (&["task", "show"], "description", None),
            (&["task", "show"], "Task not found", None),
        ] {
            let found = argument(&below(path), field);
            assert_eq!(found.as_deref(), expected, "{path:?} {field}");
        }
    }
}
