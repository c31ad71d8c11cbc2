//! Reads the requests and alerts from the tags of a file.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::beneath::Folder;
use crate::domain::tag::{Occurrence, Place, Scan, Tag, scan};
use crate::domain::{FileAlert, FileTag, Text};

/// The number of lines around an inline tag that become its body.
const AROUND: usize = 10;

/// The maximum number of bytes of a file that become the body of a tag on its Tags line.
const LARGEST_BODY: usize = 32 * 1024;

const LARGEST_TITLE: usize = 300;

/// Larger files are skipped, because they are not lists of work.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// Files with more tags are skipped, because no person reviews so many in one file.
const MOST_TAGS: usize = 5_000;

/// The headings of the sections that Chorus writes.
pub(super) const OWN_HEADINGS: [&str; 2] = ["## Response", "## Recovery"];

/// The tags of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTags {
    pub path: PathBuf,
    /// The watched tree that contains the file.
    pub root: PathBuf,
    /// The tags of requests.
    pub tags: Vec<FileTag>,
    pub alerts: Vec<FileAlert>,
}

impl FileTags {
    pub const fn none(path: PathBuf, root: PathBuf) -> Self {
        Self {
            path,
            root,
            tags: Vec::new(),
            alerts: Vec::new(),
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.alerts.is_empty()
    }
}

/// Reads the tags of a file. Symbolic links are not followed, because they may lead out of the tree.
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
    let too_large =
        || std::io::Error::other(format!("larger than {LARGEST_FILE} bytes; split the file"));
    if metadata.len() > LARGEST_FILE {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let scan = scan(&bytes);
    if scan.occurrences.len() > MOST_TAGS {
        return Err(std::io::Error::other(format!(
            "more than {MOST_TAGS} tags; split the file"
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

/// Returns the title of a tag: its line, or the heading, or the file's name.
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

/// Returns the text of a file before the sections of Chorus, up to [`LARGEST_BODY`].
fn whole(scan: &Scan<'_>) -> String {
    let bytes = scan.bytes();
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LARGEST_BODY)]);
    let own = text
        .lines()
        .take_while(|line| !OWN_HEADINGS.contains(&line.trim_end()));
    own.collect::<Vec<_>>().join("\n")
}

/// Returns the lines around an inline tag, or the whole text for a tag on the Tags line.
fn body(scan: &Scan<'_>, found: &Occurrence, whole: &str) -> String {
    let text = match found.place {
        Place::TagsLine => whole.to_owned(),
        Place::Inline => scan.passage(found.line, AROUND),
    };
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    Text::lossy(lines.join("\n").trim().to_owned()).into_string()
}
