//! Escapes text that an agent's program would interpret as a command.

use std::borrow::Cow;
use std::path::Path;

use crate::domain::Provider;

/// An invisible character that is not white space, so `@` after it no longer begins a word.
const WORD_JOINER: char = '\u{2060}';

/// The characters that may follow a path in a sentence.
const CLOSING: [char; 14] = [
    '.', ',', ';', ':', '!', '?', ')', ']', '}', '>', '"', '\'', '`', '*',
];

/// The longest path of the system.
const LONGEST: usize = 4096;

/// The places that a path in a prompt can refer to.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    pub workspace: &'a Path,
    pub home: Option<&'a Path>,
}

/// Escapes a prompt so that the program reads it as plain text.
///
/// Claude Code replaces `@path` at the beginning of a word by the contents of that file, for any file and without permission. Text
/// that others wrote into a task must not do that. Where no such file exists, `@` is only text, and stays as it is. A leading `/`
/// would be a command, but a composed prompt never begins with one.
pub fn plain_text<'a>(provider: Provider, prompt: &'a str, places: Places<'_>) -> Cow<'a, str> {
    if provider != Provider::ClaudeCode || !prompt.contains('@') {
        return Cow::Borrowed(prompt);
    }
    let mut plain = String::with_capacity(prompt.len() + 16);
    let mut begins_word = true;
    for (place, character) in prompt.char_indices() {
        if character == '@' && begins_word && is_path(&prompt[place + 1..], places) {
            plain.push(WORD_JOINER);
        }
        begins_word = character.is_whitespace();
        plain.push(character);
    }
    Cow::Owned(plain)
}

/// Whether a text begins with the path of a file or directory.
fn is_path(text: &str, places: Places<'_>) -> bool {
    let quoted = text
        .strip_prefix('"')
        .and_then(|rest| rest.split_once(['"', '\n']))
        .map(|(path, _)| path);
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    let without_lines = word.split_once('#').map(|(path, _)| path);
    let shorter = |word: &str| {
        let mut words = vec![word.to_owned()];
        let mut word = word;
        while let Some(rest) = word.strip_suffix(CLOSING) {
            words.push(rest.to_owned());
            word = rest;
        }
        words
    };
    let candidates = [quoted, Some(word), without_lines].into_iter().flatten();
    candidates
        .filter(|path| !path.is_empty() && path.len() <= LONGEST)
        .flat_map(shorter)
        .any(|path| exists(&path, places))
}

fn exists(path: &str, places: Places<'_>) -> bool {
    if path.is_empty() {
        return false;
    }
    let in_home = path.strip_prefix("~/");
    match (in_home, places.home) {
        (Some(rest), Some(home)) => home.join(rest).exists(),
        _ if path == "~" => true,
        // An absolute path replaces the workspace.
        _ => places.workspace.join(path).exists(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_path_of_an_existing_file_is_escaped() {
        let folder = tempfile::tempdir().unwrap();
        let home = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("README.md"), "").unwrap();
        std::fs::write(folder.path().join("a b"), "").unwrap();
        std::fs::write(home.path().join(".netrc"), "").unwrap();
        let places = Places {
            workspace: folder.path(),
            home: Some(home.path()),
        };
        for (word, is_escaped) in [
            ("@/etc/passwd", true),
            ("@/etc/passwd,", true),
            ("@README.md", true),
            ("@./README.md).", true),
            ("@README.md#L1-2", true),
            ("@\"README.md\"", true),
            ("@\"a b\"", true),
            ("@~/.netrc", true),
            ("@Override", false),
            ("@scope/pkg", false),
            ("@~/nothing", false),
            ("a@README.md", false),
            ("\"@README.md\"", false),
            ("@", false),
        ] {
            let prompt = format!("see {word} now");
            let plain = plain_text(Provider::ClaudeCode, &prompt, places);
            let expected = if is_escaped {
                format!("see \u{2060}{word} now")
            } else {
                prompt.clone()
            };
            assert_eq!(plain, expected, "{word}");
            assert_eq!(plain_text(Provider::Codex, &prompt, places), prompt);
        }
    }
}
