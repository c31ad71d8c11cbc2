//! The one rule of CONTRIBUTING.md on English that a program can check: a doc comment names its noun.

/// Words that stand for a noun, or begin a relative clause. A doc comment that begins with one makes the reader guess.
const PRONOUNS: [&str; 12] = [
    "It", "Its", "Tells", "That", "They", "Those", "What", "Which", "Who", "Whoever", "Whom",
    "Whose",
];

/// Lists the doc comments of a source that begin with a pronoun. The second line of a comment does not begin it.
fn list_pronouns(source: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut continues = false;
    for (index, line) in source.lines().enumerate() {
        let comment = line.trim_start();
        let text = comment
            .strip_prefix("///")
            .or_else(|| comment.strip_prefix("//!"));
        let first = text.and_then(|text| text.split_whitespace().next());
        if let Some(first) = first
            && !continues
            && PRONOUNS.contains(&first.trim_end_matches([',', '.', ':']))
        {
            found.push((index + 1, comment));
        }
        continues = text.is_some();
    }
    found
}

#[test]
fn a_doc_comment_names_its_noun() {
    let mut found = Vec::new();
    for folder in ["src", "tests", "benches"] {
        let files = super::files(&super::root().join(folder), "rs");
        assert!(!files.is_empty(), "{folder} has no Rust files to check");
        for file in files {
            let source = std::fs::read_to_string(&file).unwrap();
            let name = file.strip_prefix(super::root()).unwrap().display();
            let lines = list_pronouns(&source);
            found.extend(
                lines
                    .iter()
                    .map(|(line, text)| format!("{name}:{line} {text}")),
            );
        }
    }
    assert!(
        found.is_empty(),
        "name the noun, as CONTRIBUTING.md asks:\n{}",
        found.join("\n")
    );
}

#[test]
fn only_the_first_word_of_a_doc_comment_counts() {
    let source = "/// What it is.\n/// A task.\n/// It is open.\n// What a comment may say.\n    //! Who.\n/// Whatever.\n";
    assert_eq!(
        list_pronouns(source),
        [(1, "/// What it is."), (5, "//! Who.")]
    );
}
