//! Writes the state of requests into their files.

use std::ops::Range;
use std::path::Path;

use super::beneath::Folder;
use super::edit::{AtLock, EditError, edit};
use super::reading::title;
use crate::domain::tag::{Tag, scan};

/// A change of a tag, with sections for the end of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagWrite {
    /// The old and the new tag, if it changes.
    pub swap: Option<(Tag, Tag)>,
    /// The line on which the tag was last seen, from 1.
    pub line: u32,
    /// The title of the tag, which identifies it if lines have moved.
    pub title: String,
    pub sections: Vec<Section>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub heading: &'static str,
    /// Must not contain tags.
    pub lines: Vec<String>,
    /// The section is omitted if the file contains this text.
    pub unless: Option<String>,
}

/// Changes a tag and appends sections; the rest of the file is unchanged. Returns whether the tag was found. The file must be inside
/// `root`, not behind a symbolic link. A locked file is an error, because its lock may be held for ever.
pub fn write_tag(path: &Path, root: &Path, write: &TagWrite) -> Result<bool, EditError> {
    let not_found = || EditError::NotFound {
        path: path.to_owned(),
    };
    let name = path.file_name().ok_or_else(not_found)?;
    // Held open until the file is replaced, so that a new folder under the same name is not written to.
    let folder = Folder::of(path, root).map_err(|_| not_found())?;
    edit(&folder.path(name), AtLock::GiveUp, |bytes| {
        Ok(changed(bytes, path, write))
    })
    .map_err(|error: EditError| error.at(path))
}

fn changed(bytes: &[u8], path: &Path, write: &TagWrite) -> Option<Vec<u8>> {
    let mut new = match &write.swap {
        None => bytes.to_vec(),
        Some((old, new)) => {
            let place = find(bytes, path, old, write)?;
            let mut changed = bytes[..place.start].to_vec();
            changed.extend_from_slice(new.to_string().as_bytes());
            changed.extend_from_slice(&bytes[place.end..]);
            changed
        }
    };
    for section in &write.sections {
        let is_there = |text: &String| contains(bytes, text.as_bytes());
        if !section.unless.as_ref().is_some_and(is_there) {
            append(&mut new, section);
        }
    }
    Some(new)
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// Finds the tag with the same title that is nearest to its last line.
fn find(bytes: &[u8], path: &Path, old: &Tag, write: &TagWrite) -> Option<Range<usize>> {
    let scan = scan(bytes);
    let expected = usize::try_from(write.line).unwrap_or(usize::MAX);
    scan.occurrences
        .iter()
        .filter(|found| found.tag == *old && title(&scan, found, path) == write.title)
        .min_by_key(|found| found.line.abs_diff(expected))
        .map(|found| found.range.clone())
}

/// Appends a section. Its heading is omitted if it is already the last heading of the file.
fn append(bytes: &mut Vec<u8>, section: &Section) {
    let end: &[u8] = if bytes.windows(2).any(|pair| pair == b"\r\n") {
        b"\r\n"
    } else {
        b"\n"
    };
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        bytes.extend_from_slice(end);
    }
    let last_heading = bytes
        .split(|byte| *byte == b'\n')
        .rfind(|line| line.starts_with(b"#"))
        .map(<[u8]>::trim_ascii_end);
    if last_heading != Some(section.heading.as_bytes()) {
        if !bytes.is_empty() {
            bytes.extend_from_slice(end);
        }
        bytes.extend_from_slice(section.heading.as_bytes());
        bytes.extend_from_slice(end);
        bytes.extend_from_slice(end);
    }
    for line in &section.lines {
        bytes.extend_from_slice(line.as_bytes());
        bytes.extend_from_slice(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(line: u32, title: &str, sections: Vec<Section>) -> TagWrite {
        TagWrite {
            swap: Some((
                Tag::parse("#claimed-fix").unwrap(),
                Tag::parse("#done-fix").unwrap(),
            )),
            line,
            title: title.to_owned(),
            sections,
        }
    }

    fn after(before: &[u8], write: &TagWrite) -> Option<String> {
        changed(before, Path::new("a.md"), write)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    #[test]
    fn only_the_nearest_tag_with_the_same_title_is_changed() {
        let file = b"- one #claimed-fix\n- two #claimed-fix\n- two #claimed-fix";
        assert_eq!(
            after(file, &write(3, "two", vec![])).unwrap(),
            "- one #claimed-fix\n- two #claimed-fix\n- two #done-fix"
        );
        assert_eq!(after(file, &write(1, "three", vec![])), None);
    }

    #[test]
    fn sections_are_appended_with_the_line_endings_of_the_file() {
        let section = |line: &str| Section {
            heading: "## Response",
            lines: vec![line.to_owned()],
            unless: None,
        };
        let once = after(
            b"# a\r\n\r\n- x #claimed-fix",
            &write(3, "x", vec![section("* 1"), section("* 2")]),
        );
        assert_eq!(
            once.unwrap(),
            "# a\r\n\r\n- x #done-fix\r\n\r\n## Response\r\n\r\n* 1\r\n* 2\r\n"
        );
        let known = Section {
            unless: Some("(/1)".to_owned()),
            ..section("* [x](/1)")
        };
        let again = TagWrite {
            swap: None,
            ..write(1, "x", vec![known])
        };
        let told = "x #done-fix\n\n## Response\n\n* [x](/1)\n";
        assert_eq!(after(b"x #done-fix\n", &again).unwrap(), told);
        assert_eq!(after(told.as_bytes(), &again).unwrap(), told);
    }
}
