//! `chorus tag`. Needs neither a server nor an async runtime.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::arguments::{TagCommand, TagFindArguments, TagWaitArguments};
use super::ui::{Exit, Failure, Ui, one_line, printable};
use crate::domain::tag::{Tag, TagRefusal};
use crate::tags::{self, ContextLine, EditError, Found, Search, TagError, WaitError};
use crate::words::tag_refusal;

/// The number of context lines on either side of a tag.
const CONTEXT: usize = 2;

pub(super) fn run(ui: Ui, command: TagCommand) -> Result<(), Failure> {
    match command {
        TagCommand::Add { file, tags, inline } => {
            let line = tags::add(&resolved(&file)?, &tags, inline)
                .map_err(|error| failed(&file, error))?;
            done(ui, &file, line, &words(&tags))
        }
        TagCommand::Remove { file, tags, inline } => {
            let line = tags::remove(&resolved(&file)?, &tags, inline)
                .map_err(|error| failed(&file, error))?;
            done(ui, &file, line, &format!("no longer {}", words(&tags)))
        }
        TagCommand::Swap {
            file,
            old,
            new,
            inline,
        } => {
            let line = tags::swap(&resolved(&file)?, &old, &new, inline)
                .map_err(|error| failed(&file, error))?;
            done(ui, &file, line, &new.to_string())
        }
        TagCommand::Find(arguments) => find(ui, arguments),
        TagCommand::Wait(arguments) => wait(&arguments),
    }
}

/// Resolves symbolic links: replacing the file must not replace the link.
fn resolved(file: &Path) -> Result<PathBuf, Failure> {
    file.canonicalize().map_err(|cause| not_there(file, &cause))
}

fn not_there(path: &Path, cause: &std::io::Error) -> Failure {
    let failure = Failure::new(format!("cannot open {}: {cause}", path.display()));
    match cause.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Failure {
            exit: Exit::NotFound,
            ..failure
        },
        _ => failure,
    }
}

/// Converts an error to a failure with the file name that was typed.
fn failed(file: &Path, error: TagError) -> Failure {
    match error {
        TagError::Edit(error @ EditError::NotFound { .. }) => Failure {
            exit: Exit::NotFound,
            ..Failure::caused(&error)
        },
        TagError::Edit(error) => Failure::caused(&error),
        TagError::Refused { refusal, .. } => {
            let why = tag_refusal(&refusal);
            let failure = Failure::new(format!("{}: {why}", file.display()));
            match refusal {
                TagRefusal::Several { .. } => failure.with_hint("name the line with --inline LINE"),
                _ => failure,
            }
        }
    }
}

fn words(tags: &[Tag]) -> String {
    let words: Vec<_> = tags.iter().map(Tag::to_string).collect();
    words.join(" ")
}

/// Prints the changed line.
fn done(ui: Ui, file: &Path, line: usize, what: &str) -> Result<(), Failure> {
    ui.pairs([(place(file, line), what.to_owned())])
}

fn place(file: &Path, line: usize) -> String {
    format!("{}:{line}", shown(file))
}

/// Formats a path on one line, without tabs.
fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).replace(['\n', '\t'], "\u{fffd}")
}

fn find(ui: Ui, arguments: TagFindArguments) -> Result<(), Failure> {
    let TagFindArguments {
        tag,
        paths,
        context,
        tags_only,
        json,
    } = arguments;
    for path in &paths {
        path.metadata().map_err(|cause| not_there(path, &cause))?;
    }
    let is_here = paths.is_empty();
    let roots = if is_here {
        vec![PathBuf::from(".")]
    } else {
        paths
    };
    let search = Search {
        pattern: tag,
        tags_only,
        context: if context { CONTEXT } else { 0 },
    };
    let (mut found, unreadable) = tags::find(&roots, &search);
    for notice in unreadable {
        ui.notice(printable(&notice.0));
    }
    if is_here {
        for one in &mut found {
            if let Ok(short) = one.path.strip_prefix(".") {
                one.path = short.to_owned();
            }
        }
    }
    if json {
        let array: Vec<_> = found.iter().map(Printed::from).collect();
        ui.text(&serde_json::to_string(&array).map_err(|error| Failure::caused(&error))?)?;
    } else if context {
        ui.pairs(with_context(&found))?;
    } else {
        ui.pairs(one_by_one(&found))?;
    }
    if found.is_empty() {
        Err(Failure::silent())
    } else {
        Ok(())
    }
}

/// A tag as `--json` prints it.
#[derive(Serialize)]
struct Printed<'a> {
    file: Cow<'a, str>,
    line: usize,
    tag: &'a str,
    place: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    context: &'a [ContextLine],
}

impl<'a> From<&'a Found> for Printed<'a> {
    fn from(found: &'a Found) -> Self {
        Self {
            file: found.path.to_string_lossy(),
            line: found.line,
            tag: &found.tag,
            place: found.place.as_str(),
            text: &found.text,
            context: &found.context,
        }
    }
}

/// Returns each line with a tag once.
fn one_by_one(found: &[Found]) -> impl Iterator<Item = (String, String)> {
    let mut last = None;
    found.iter().filter_map(move |found| {
        let is_new = last.replace((&found.path, found.line)) != Some((&found.path, found.line));
        is_new.then(|| (place(&found.path, found.line), one_line(&found.text)))
    })
}

/// Returns the lines around tags, each once: `:` marks the number of a line with a tag, `-` the others, as grep does.
fn with_context(found: &[Found]) -> impl Iterator<Item = (String, String)> {
    let files = found.chunk_by(|one, other| one.path == other.path);
    files.flat_map(|file| {
        let name = shown(&file[0].path);
        let mut shown = 0;
        let mut pairs = Vec::new();
        for line in file.iter().flat_map(|found| &found.context) {
            if line.line <= shown {
                continue;
            }
            shown = line.line;
            let is_hit = file
                .binary_search_by_key(&shown, |found| found.line)
                .is_ok();
            let mark = if is_hit { ':' } else { '-' };
            let text = printable(line.text.trim_end()).replace('\t', "    ");
            pairs.push((format!("{name}{mark}{shown}"), text));
        }
        pairs
    })
}

pub(super) fn wait(arguments: &TagWaitArguments) -> Result<(), Failure> {
    let timeout = arguments.timeout.map(Duration::from_secs);
    Ok(tags::await_tag(&arguments.file, &arguments.tag, timeout)?)
}

impl From<WaitError> for Failure {
    fn from(error: WaitError) -> Self {
        let failure = Self::caused(&error);
        match error {
            WaitError::TimedOut { .. } => Self {
                exit: Exit::TimedOut,
                ..failure
            },
            WaitError::Unreadable { .. } | WaitError::Unwatchable { .. } => failure,
        }
    }
}
