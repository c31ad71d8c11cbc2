//! Adding, removing and swapping tags in a file.

use std::path::{Path, PathBuf};

use super::edit::{EditError, edit};
use crate::domain::tag::{Changed, Tag, TagRefusal, add_tags, remove_tags, swap_tag};
use crate::words;

/// Why the tags of a file were not changed.
#[derive(Debug, thiserror::Error)]
pub enum TagError {
    /// The file could not be.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The tags are not such that it could be done.
    #[error("{}: {}", path.display(), words::tag_refusal(refusal))]
    Refused { path: PathBuf, refusal: TagRefusal },
}

/// Adds tags to a file. Returns the line that has them.
pub fn add(path: &Path, tags: &[Tag], line: Option<usize>) -> Result<usize, TagError> {
    change(path, |bytes| add_tags(bytes, tags, line))
}

/// Removes tags from a file. Returns the line that had them; of several lines the last.
pub fn remove(path: &Path, tags: &[Tag], line: Option<usize>) -> Result<usize, TagError> {
    change(path, |bytes| remove_tags(bytes, tags, line))
}

/// Swaps a tag of a file for another. Returns the line that has it. Of all who swap the same tag at once, one succeeds.
pub fn swap(path: &Path, old: &Tag, new: &Tag, line: Option<usize>) -> Result<usize, TagError> {
    change(path, |bytes| swap_tag(bytes, old, new, line))
}

fn change(
    path: &Path,
    change: impl Fn(&[u8]) -> Result<Changed, TagRefusal>,
) -> Result<usize, TagError> {
    let mut line = 0;
    edit(path, |bytes| match change(bytes) {
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
