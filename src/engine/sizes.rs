//! Checks the sizes of texts.

use super::{Engine, Result};
use crate::domain::{Source, Text};
use crate::error::Error;

/// The limit of a name, such as that of a user or a conversation, in bytes.
const LONGEST_NAME: usize = 1000;

impl Engine {
    /// Checks a prompt, an output or a message.
    pub(super) fn check_prompt(&self, what: &'static str, text: &Text) -> Result<()> {
        check_size(what, text, self.limits().prompt)
    }

    /// Checks a description, or another text that a caller writes.
    pub(super) fn check_text(&self, what: &'static str, text: &Text) -> Result<()> {
        check_size(what, text, self.limits().text)
    }

    /// Checks a reason, or another remark.
    pub(super) fn check_remark(&self, what: &'static str, text: Option<&Text>) -> Result<()> {
        text.map_or(Ok(()), |text| check_size(what, text, self.limits().remark))
    }
}

pub(super) fn check_source(source: Option<&Source>) -> Result<()> {
    let Some(source) = source else {
        return Ok(());
    };
    check_size("source.sourceType", &source.source_type, LONGEST_NAME)?;
    check_size("source.userId", &source.user_id, LONGEST_NAME)?;
    match &source.conversation_id {
        Some(id) => check_size("source.conversationId", id, LONGEST_NAME),
        None => Ok(()),
    }
}

fn check_size(what: &'static str, text: &Text, limit: usize) -> Result<()> {
    if text.as_str().len() > limit {
        return Err(Error::TooLarge { what, limit });
    }
    Ok(())
}
