//! What can be typed after `chorus tag` and `chorus await-tag`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::domain::tag::{IllegalTag, Tag, TagPattern};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TagCommand {
    /// Add tags to a file: all of them or, if one is there already, none
    ///
    /// They go to the `**Tags**:` line below the first heading, which is made if it is not there; at the top of a file without a
    /// heading.
    Add {
        /// The file
        file: PathBuf,
        /// Tags such as '#needs-implementation' or '#P1', with or without the #
        #[arg(required = true, value_name = "TAG", value_parser = tag)]
        tags: Vec<Tag>,
        /// Add them behind the text of this line instead
        #[arg(long, value_name = "LINE")]
        inline: Option<usize>,
    },
    /// Remove tags from a file: all of them or, if one is not there, none
    ///
    /// The tag on the Tags line is meant; if it is not there, the one in the text, if that has it on one line only. A Tags line
    /// stays when it is empty.
    Remove {
        /// The file
        file: PathBuf,
        /// Tags, with or without the #
        #[arg(required = true, value_name = "TAG", value_parser = tag)]
        tags: Vec<Tag>,
        /// The tags on this line are meant
        #[arg(long, value_name = "LINE")]
        inline: Option<usize>,
    },
    /// Swap a tag for another: of any number at once exactly one succeeds; the others exit 1 and say what is there now
    ///
    /// The tag on the Tags line is meant; if it is not there, the one in the text, if that has it only once. No other byte of the
    /// file changes.
    Swap {
        /// The file
        file: PathBuf,
        /// The tag that is there, with or without the #
        #[arg(value_parser = tag)]
        old: Tag,
        /// The tag that is to be there
        #[arg(value_parser = tag)]
        new: Tag,
        /// The tag on this line is meant
        #[arg(long, value_name = "LINE")]
        inline: Option<usize>,
    },
    /// Find a tag in Markdown files; exit 1 if it is nowhere
    ///
    /// Tags in code and comments are only mentions. Hidden files and those that .gitignore names are passed over, and symbolic
    /// links are not followed.
    Find(TagFindArguments),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct TagFindArguments {
    /// The tag, with or without the #; a * at its end stands for any rest: '#needs-*'
    #[arg(value_parser = pattern)]
    pub tag: TagPattern,
    /// Folders and files [default: the current folder]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Print the lines around it too
    #[arg(long)]
    pub context: bool,
    /// Look only at the Tags lines of files
    #[arg(long)]
    pub tags_only: bool,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct AwaitTagArguments {
    /// The file; it need not be there yet
    pub file: PathBuf,
    /// The tag, with or without the #; a * at its end stands for any rest
    #[arg(value_parser = pattern)]
    pub tag: TagPattern,
    /// Wait at most so many seconds, then exit 1
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
}

fn tag(text: &str) -> Result<Tag, IllegalTag> {
    Tag::parse(text)
}

fn pattern(text: &str) -> Result<TagPattern, IllegalTag> {
    TagPattern::parse(text)
}
