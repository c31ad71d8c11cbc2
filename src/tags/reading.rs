//! What the tags of a file ask for.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::beneath::Folder;
use crate::domain::tag::{Occurrence, Place, Scan, Tag, scan};
use crate::domain::{FileAlert, FileTag, Text};

/// How many lines around a tag belong to it.
const AROUND: usize = 10;

/// How many bytes of a file belong to the tags of its Tags line.
const LARGEST_BODY: usize = 32 * 1024;

/// How many bytes a title has.
const LARGEST_TITLE: usize = 300;

/// Larger files are not read: nobody keeps work in them.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// Files with more tags are not read: nobody looks at so much work in one place.
const MOST_TAGS: usize = 5_000;

/// The headings below which Chorus itself writes.
pub(super) const OWN_HEADINGS: [&str; 2] = ["## Response", "## Recovery"];

/// A file and what its tags ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTags {
    /// The file.
    pub path: PathBuf,
    /// The tree that it is in.
    pub root: PathBuf,
    /// The tags that stand for requests.
    pub tags: Vec<FileTag>,
    /// The tags that stand for alerts.
    pub alerts: Vec<FileAlert>,
}

impl FileTags {
    /// Says that a file has no tags.
    pub const fn none(path: PathBuf, root: PathBuf) -> Self {
        Self {
            path,
            root,
            tags: Vec::new(),
            alerts: Vec::new(),
        }
    }

    /// Tells whether a file has no tags.
    pub const fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.alerts.is_empty()
    }
}

/// Reads a file. A symbolic link is not followed: it may lead out of the tree.
pub(super) fn read_tags(path: &Path, root: &Path) -> std::io::Result<FileTags> {
    let name = path.file_name().ok_or(ErrorKind::NotFound)?;
    let folder = Folder::of(path, root)?;
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(folder.path(name))?;
    let metadata = file.metadata()?;
    let mut tags = FileTags::none(path.to_owned(), root.to_owned());
    if !metadata.is_file() {
        return Ok(tags);
    }
    let too_large = || std::io::Error::other("it is too large to be read, and is left alone");
    if metadata.len() > LARGEST_FILE {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let scan = scan(&bytes);
    if scan.occurrences.len() > MOST_TAGS {
        return Err(std::io::Error::other(format!(
            "it has more than {MOST_TAGS} tags, and is left alone"
        )));
    }
    let whole = whole(&scan);
    for found in &scan.occurrences {
        match &found.tag {
            Tag::State { state, kind } => {
                let weights = scan.weights(found.line);
                tags.tags.push(FileTag {
                    kind: kind.clone(),
                    state: *state,
                    line: line(found),
                    title: title(&scan, found, path),
                    body: body(&scan, found, &whole),
                    priority: weights.priority,
                    effort: weights.effort,
                });
            }
            Tag::Alert { active } => tags.alerts.push(FileAlert {
                active: *active,
                line: line(found),
                title: title(&scan, found, path),
            }),
            _ => {}
        }
    }
    Ok(tags)
}

fn line(found: &Occurrence) -> u32 {
    u32::try_from(found.line).unwrap_or(u32::MAX)
}

/// Returns what a tag is about: its line, or the heading, or at least the file.
pub(super) fn title(scan: &Scan<'_>, found: &Occurrence, path: &Path) -> String {
    let own = scan.title(found.line);
    let heading = scan.heading.as_ref().map(|heading| heading.text.clone());
    let name = path.file_stem().map(|name| name.to_string_lossy().into());
    let title = [Some(own), heading, name]
        .into_iter()
        .flatten()
        .map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "))
        .find(|title| !title.is_empty())
        .unwrap_or_else(|| "untitled".to_owned());
    Text::lossy(title).beginning(LARGEST_TITLE).into_string()
}

/// Returns the text of a file before what Chorus itself wrote, or how it begins.
fn whole(scan: &Scan<'_>) -> String {
    let bytes = scan.bytes();
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LARGEST_BODY)]);
    let own = text
        .lines()
        .take_while(|line| !OWN_HEADINGS.contains(&line.trim_end()));
    own.collect::<Vec<_>>().join("\n")
}

/// Returns the text around a tag; for one of the Tags line, the whole.
fn body(scan: &Scan<'_>, found: &Occurrence, whole: &str) -> String {
    let text = match found.place {
        Place::TagsLine => whole.to_owned(),
        Place::Inline => scan.passage(found.line, AROUND),
    };
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    Text::lossy(lines.join("\n").trim().to_owned()).into_string()
}
