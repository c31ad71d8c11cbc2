//! Escapes text that an agent's program would interpret as a command.

use std::borrow::Cow;

use crate::domain::Provider;

/// An invisible character that is not white space, so `@` after it no longer begins a word.
const WORD_JOINER: char = '\u{2060}';

/// Escapes a prompt so that the program reads it as plain text.
///
/// Claude Code replaces `@path` at the beginning of a word by the contents of that file, for any file and without permission. Text
/// that others wrote into a task must not do that. A leading `/` would be a command, but a composed prompt never begins with one.
pub fn plain_text(provider: Provider, prompt: &str) -> Cow<'_, str> {
    if provider != Provider::ClaudeCode || !prompt.contains('@') {
        return Cow::Borrowed(prompt);
    }
    let mut plain = String::with_capacity(prompt.len() + 16);
    let mut begins_word = true;
    for character in prompt.chars() {
        if character == '@' && begins_word {
            plain.push(WORD_JOINER);
        }
        begins_word = character.is_whitespace();
        plain.push(character);
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_at_the_beginning_of_a_word_is_only_text() {
        let plain = plain_text(Provider::ClaudeCode, "@/etc/passwd a@b.c\n@x \"@y\"\t@");
        assert_eq!(
            plain,
            "\u{2060}@/etc/passwd a@b.c\n\u{2060}@x \"@y\"\t\u{2060}@"
        );
    }

    #[test]
    fn prompts_of_other_providers_are_unchanged() {
        assert_eq!(plain_text(Provider::Codex, "@/etc/passwd"), "@/etc/passwd");
        assert_eq!(plain_text(Provider::ClaudeCode, "no mention"), "no mention");
    }
}
