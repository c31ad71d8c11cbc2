//! Arguments of `chorus tag`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::domain::tag::{IllegalTag, Tag, TagPattern};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TagCommand {
    /// Add tags to a file, all of them or none
    ///
    /// The tags go to the `**Tags**:` line below the first heading, or at the top of a file without a heading. A missing line is
    /// created. If the file already has one of the tags, nothing changes.
    Add {
        /// File to change
        file: PathBuf,
        /// Tags such as '#needs-implementation' or '#P1', with or without the #
        #[arg(required = true, value_name = "TAG", value_parser = tag)]
        tags: Vec<Tag>,
        /// Add the tags at the end of this line instead
        #[arg(long, value_name = "LINE")]
        inline: Option<usize>,
    },
    /// Remove tags from a file, all of them or none
    ///
    /// Removes the tag from the Tags line; if it is not there, from the text, where it must be on one line only. An empty Tags
    /// line stays. If a tag is missing, nothing changes.
    Remove {
        /// File to change
        file: PathBuf,
        /// Tags, with or without the #
        #[arg(required = true, value_name = "TAG", value_parser = tag)]
        tags: Vec<Tag>,
        /// Remove the tags from this line
        #[arg(long, value_name = "LINE")]
        inline: Option<usize>,
    },
    /// Replace a tag by another; only one of several callers succeeds
    ///
    /// Replaces the tag on the Tags line; if it is not there, in the text, where it must occur only once. No other byte of the
    /// file changes. If several callers swap the same tag at once, one succeeds; the others exit 1 and print the tags that the
    /// file has now.
    Swap {
        /// File to change
        file: PathBuf,
        /// Tag to replace, with or without the #
        #[arg(value_parser = tag)]
        old: Tag,
        /// New tag
        #[arg(value_parser = tag)]
        new: Tag,
        /// Replace the tag on this line
        #[arg(long, value_name = "LINE")]
        inline: Option<usize>,
    },
    /// Find a tag in Markdown files; exit 1 if no file has it
    ///
    /// Tags in code and comments do not count. Hidden files and files that .gitignore names are skipped; symbolic links are not
    /// followed.
    Find(TagFindArguments),
    /// Wait until a file has a tag
    Wait(TagWaitArguments),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct TagFindArguments {
    /// Tag, with or without the #; may end in a wildcard: '#needs-*'
    #[arg(value_parser = pattern)]
    pub tag: TagPattern,
    /// Folders and files to search [default: the current folder]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Print the surrounding lines too
    #[arg(long)]
    pub context: bool,
    /// Search only the Tags lines of files
    #[arg(long)]
    pub tags_only: bool,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct TagWaitArguments {
    /// File to watch; it may not exist yet
    pub file: PathBuf,
    /// Tag, with or without the #; may end in a wildcard: '#needs-*'
    #[arg(value_parser = pattern)]
    pub tag: TagPattern,
    /// Seconds to wait, then exit 6
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
}

fn tag(text: &str) -> Result<Tag, IllegalTag> {
    Tag::parse(text)
}

fn pattern(text: &str) -> Result<TagPattern, IllegalTag> {
    TagPattern::parse(text)
}
