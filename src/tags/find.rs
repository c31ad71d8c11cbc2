//! Finding tags in a tree of Markdown files.
//!
//! Most files do not have the tag. So each is read whole into a buffer that its thread keeps, and only if the bytes of the tag are in it
//! at all is it read as Markdown.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use ignore::{DirEntry, WalkBuilder, WalkState};
use memchr::memmem::Finder;

use crate::domain::tag::{Place, TagPattern, scan};

/// How large the buffer of a thread is at first.
const BUFFER: usize = 64 * 1024;

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Search {
    /// The tags.
    pub pattern: TagPattern,
    /// Whether only Tags lines count.
    pub tags_only: bool,
    /// How many lines around each tag are wanted.
    pub context: usize,
}

/// A tag that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The tag, as it is written.
    pub tag: String,
    /// Where it stands.
    pub place: Place,
    /// The line's text.
    pub text: String,
    /// The lines around it and itself, if they are wanted.
    pub context: Vec<ContextLine>,
}

/// A line around a tag.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ContextLine {
    /// The line, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
}

/// A file or folder that could not be searched, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(pub String);

/// Looks for tags in Markdown files below folders, and in files that are named themselves. Returns what was found, sorted by path and line,
/// and what could not be read.
///
/// Files that `.gitignore` and its like name are passed over, also outside of a repository; so are hidden ones. Symbolic links are not
/// followed, except those that are named themselves.
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
    // Each file has at least one, and they are in order.
    files.sort_by(|one, other| one[0].path.cmp(&other[0].path));
    unreadable.sort_by(|one, other| one.0.cmp(&other.0));
    (files.into_iter().flatten().collect(), unreadable)
}

/// Tells whether an entry is a Markdown file, or a file that was named itself.
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

/// Reads a whole file into a buffer that grows if it must.
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
