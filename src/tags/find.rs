//! Finds tags in trees of Markdown files.
//!
//! Most files do not contain the tag. So each thread reads whole files into its own buffer, and parses a file as Markdown only if the
//! tag's bytes occur in it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use ignore::{DirEntry, WalkBuilder, WalkState};
use memchr::memmem::Finder;

use crate::domain::tag::{Place, TagPattern, scan};

/// The initial buffer size of a thread.
const BUFFER: usize = 64 * 1024;

#[derive(Debug, Clone)]
pub struct Search {
    pub pattern: TagPattern,
    /// Ignores tags outside of Tags lines.
    pub tags_only: bool,
    /// The number of lines to return before and after each tag.
    pub context: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
    /// As written in the file.
    pub tag: String,
    pub place: Place,
    pub text: String,
    /// The lines around the tag, including its own. Empty unless [`Search::context`] is set.
    pub context: Vec<ContextLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ContextLine {
    /// From 1.
    pub line: usize,
    pub text: String,
}

/// A message about a file or folder that could not be searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(pub String);

/// Searches the roots: all Markdown files below a folder, or a single file of any kind. Returns the tags sorted by path and line, and the
/// unreadable files.
///
/// Hidden files and files listed in `.gitignore` or `.ignore` are skipped, also outside of a repository. Symbolic links are not
/// followed, except for the roots themselves.
pub fn find(roots: &[PathBuf], search: &Search) -> (Vec<Found>, Vec<Unreadable>) {
    let Some((first, others)) = roots.split_first() else {
        return (Vec::new(), Vec::new());
    };
    let mut walk = WalkBuilder::new(first);
    for root in others {
        walk.add(root);
    }
    walk.require_git(false);
    let finder = Finder::new(search.pattern.needle());
    let (results, found) = mpsc::channel();
    walk.build_parallel().run(|| {
        let results = results.clone();
        let finder = &finder;
        let mut buffer = vec![0; BUFFER];
        Box::new(move |entry| {
            let result = match entry {
                Ok(entry) if is_searched(&entry) => {
                    in_file(entry.path(), search, finder, &mut buffer)
                }
                Ok(_) => return WalkState::Continue,
                Err(error) => Err(Unreadable(error.to_string())),
            };
            match result {
                Ok(found) if found.is_empty() => WalkState::Continue,
                result => match results.send(result) {
                    Ok(()) => WalkState::Continue,
                    Err(_) => WalkState::Quit,
                },
            }
        })
    });
    drop(results);
    sorted(found)
}

type Outcome = Result<Vec<Found>, Unreadable>;

fn sorted(results: mpsc::Receiver<Outcome>) -> (Vec<Found>, Vec<Unreadable>) {
    let (mut files, mut unreadable) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(found) => files.push(found),
            Err(error) => unreadable.push(error),
        }
    }
    // Each file has at least one tag, and its tags are in order.
    files.sort_by(|one, other| one[0].path.cmp(&other[0].path));
    unreadable.sort_by(|one, other| one.0.cmp(&other.0));
    (files.into_iter().flatten().collect(), unreadable)
}

/// Whether an entry is a Markdown file, or a file given as a root.
fn is_searched(entry: &DirEntry) -> bool {
    if entry.depth() == 0 {
        return entry.path().is_file();
    }
    entry.file_type().is_some_and(|kind| kind.is_file()) && is_markdown(entry.path())
}

pub(super) fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|ending| {
        ending.eq_ignore_ascii_case("md") || ending.eq_ignore_ascii_case("markdown")
    })
}

fn in_file(path: &Path, search: &Search, finder: &Finder<'_>, buffer: &mut Vec<u8>) -> Outcome {
    let bytes = match read(path, buffer) {
        Ok(bytes) => bytes,
        Err(error) => return Err(Unreadable(format!("{}: {error}", path.display()))),
    };
    if finder.find(bytes).is_none() {
        return Ok(Vec::new());
    }
    let scan = scan(bytes);
    let wanted = scan.occurrences.iter().filter(|found| {
        let is_in_place = !search.tags_only || found.place == Place::TagsLine;
        is_in_place && search.pattern.matches(&bytes[found.range.clone()])
    });
    let line = |line| ContextLine {
        line,
        text: scan.line_text(line).into_owned(),
    };
    let found = wanted.map(|found| Found {
        path: path.to_owned(),
        line: found.line,
        tag: found.tag.to_string(),
        place: found.place,
        text: scan.line_text(found.line).into_owned(),
        context: match search.context {
            0 => Vec::new(),
            lines => scan.around(found.line, lines).map(line).collect(),
        },
    });
    Ok(found.collect())
}

/// Reads a whole file into the buffer, which grows as needed.
fn read<'a>(path: &Path, buffer: &'a mut Vec<u8>) -> std::io::Result<&'a [u8]> {
    let mut file = File::open(path)?;
    let mut length = 0;
    loop {
        if length == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        match file.read(&mut buffer[length..]) {
            Ok(0) => return Ok(&buffer[..length]),
            Ok(count) => length += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
