//! The task of a command that names none: in a run, the run's own.
//!
//! # How it works
//! A command inside a run may leave out its first argument if that is a task: `chorus handoff qa "Try it."`. The command line is parsed
//! as it stands; if an argument is missing, it is parsed again with [`OWN_TASK`] in the first place. An agent therefore needs no
//! variable in its commands, which some agent programs refuse to run.

use std::ffi::OsString;

use clap::ArgMatches;
use clap::error::ErrorKind;

use super::arguments::{self, OWN_TASK, nouns_of};
use super::ui::Failure;
use crate::domain::Noun;

/// Parses the command line of this process.
pub(super) fn matches() -> clap::error::Result<ArgMatches> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let error = match arguments::command().try_get_matches_from(&words) {
        Ok(matches) => return Ok(matches),
        Err(error) => error,
    };
    let may_lack_task = matches!(
        error.kind(),
        ErrorKind::MissingRequiredArgument | ErrorKind::ValueValidation
    );
    if !may_lack_task || in_run().is_none() {
        return Err(error);
    }
    let Some(words) = with_own_task(words) else {
        return Err(error);
    };
    arguments::command()
        .try_get_matches_from(words)
        .map_err(|_| error)
}

/// Returns the task of the run that has started this command.
pub(super) fn in_run() -> Option<String> {
    let task = std::env::var("CHORUS_TASK_ID").ok();
    task.filter(|task| !task.is_empty())
}

/// Returns the task that [`OWN_TASK`] stands for.
pub(super) fn find() -> Result<String, Failure> {
    in_run().ok_or_else(|| {
        Failure::usage("`.` is the task of a run, and works only inside a run")
            .with_hint("`chorus task list` lists the tasks")
    })
}

/// Inserts the run's own task as the first argument of a command that takes a task there.
fn with_own_task(mut words: Vec<OsString>) -> Option<Vec<OsString>> {
    let mut command = arguments::command();
    let mut place = 1;
    while let Some(below) = words
        .get(place)
        .and_then(|word| command.find_subcommand(word).cloned())
    {
        command = below;
        place += 1;
    }
    let first = command.get_positionals().next()?;
    if !nouns_of(first).contains(&Noun::Task) {
        return None;
    }
    words.insert(place, OWN_TASK.into());
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(line: &str) -> Option<String> {
        let words = line.split(' ').map(OsString::from).collect();
        let words = with_own_task(words)?;
        let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
        Some(words.join(" "))
    }

    #[test]
    fn the_own_task_stands_right_after_a_command_that_takes_a_task() {
        for (line, expected) in [
            ("chorus handoff qa try", Some("chorus handoff . qa try")),
            (
                "chorus task plan --summary s",
                Some("chorus task plan . --summary s"),
            ),
            (
                "chorus task update --merge",
                Some("chorus task update . --merge"),
            ),
            ("chorus log", Some("chorus log .")),
            (
                "chorus tool call to_b {}",
                Some("chorus tool call . to_b {}"),
            ),
            ("chorus request show", None),
            ("chorus task", None),
            ("chorus serve", None),
        ] {
            assert_eq!(completed(line).as_deref(), expected, "{line}");
        }
    }
}
