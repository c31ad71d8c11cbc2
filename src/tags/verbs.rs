//! Adds, removes and swaps tags in a file.

use std::path::{Path, PathBuf};

use super::edit::{AtLock, EditError, edit};
use super::find::is_markdown;
use crate::domain::tag::{Changed, Tag, TagRefusal, add_tags, remove_tags, swap_tag};
use crate::words;

#[derive(Debug, thiserror::Error)]
pub enum TagError {
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error("{}: {}", path.display(), words::tag_refusal(refusal))]
    Refused { path: PathBuf, refusal: TagRefusal },
}

/// Adds tags to a file. Returns their line. A tag in a program or in data would break it.
pub fn add(path: &Path, tags: &[Tag], line: Option<usize>) -> Result<usize, TagError> {
    let is_text = path
        .extension()
        .is_none_or(|ending| ending.eq_ignore_ascii_case("txt"));
    if !is_text && !is_markdown(path) {
        let path = path.to_owned();
        return Err(EditError::NotMarkdown { path }.into());
    }
    change(path, |bytes| add_tags(bytes, tags, line))
}

/// Removes tags from a file. Returns their line, or the last one of several.
pub fn remove(path: &Path, tags: &[Tag], line: Option<usize>) -> Result<usize, TagError> {
    change(path, |bytes| remove_tags(bytes, tags, line))
}

/// Swaps a tag for another, and returns its line. Of concurrent swaps of the same tag, exactly one succeeds.
pub fn swap(path: &Path, old: &Tag, new: &Tag, line: Option<usize>) -> Result<usize, TagError> {
    change(path, |bytes| swap_tag(bytes, old, new, line))
}

fn change(
    path: &Path,
    change: impl Fn(&[u8]) -> Result<Changed, TagRefusal>,
) -> Result<usize, TagError> {
    let mut line = 0;
    edit(path, AtLock::Wait, |bytes| match change(bytes) {
        Ok(changed) => {
            line = changed.line;
            Ok(Some(changed.bytes))
        }
        Err(refusal) => Err(TagError::Refused {
            path: path.to_owned(),
            refusal,
        }),
    })?;
    Ok(line)
}
