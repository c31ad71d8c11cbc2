//! Files and names of the code that a page mentions must exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::page::Page;

/// The folders of the code.
const FOLDERS: [&str; 3] = ["src", "tests", "migrations"];

/// Describes the files, functions and types that a page mentions in backticks and that do not exist.
pub fn problems(root: &Path, page: &Page) -> Vec<String> {
    let files = files(root);
    let words: BTreeSet<&str> = files.iter().flat_map(|(_, text)| names(text)).collect();
    let prose = page.prose();
    let spans: Vec<_> = prose.split('`').collect();
    let mut problems = Vec::new();
    for (place, span) in spans.iter().enumerate().skip(1).step_by(2) {
        let is_file = Path::new(span)
            .extension()
            .is_some_and(|extension| extension == "rs");
        if is_file && !span.contains(' ') {
            // `file.rs` `function`: the file must define the function.
            let next = (spans[place + 1].trim().is_empty()).then(|| spans[place + 2]);
            problems.extend(file_problem(&files, span, next));
        } else if is_path_of_names(span) {
            let missing = names(span).find(|name| !words.contains(name));
            problems.extend(missing.map(|name| format!("`{span}`: the code has no name `{name}`")));
        }
    }
    problems
}

/// Reads every Rust and SQL file.
fn files(root: &Path) -> Vec<(PathBuf, String)> {
    let mut folders: Vec<_> = FOLDERS.iter().map(|folder| root.join(folder)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "rs" || extension == "sql")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                files.push((path, text));
            }
        }
    }
    files
}

fn file_problem(files: &[(PathBuf, String)], file: &str, function: Option<&str>) -> Option<String> {
    let found: Vec<_> = files
        .iter()
        .filter(|(path, _)| path.ends_with(file))
        .collect();
    if found.is_empty() {
        return Some(format!("`{file}`: there is no such file"));
    }
    let function = function?;
    let definitions = [format!("fn {function}("), format!("fn {function}<")];
    let defines = |text: &str| {
        definitions
            .iter()
            .any(|definition| text.contains(definition))
    };
    (!found.iter().any(|(_, text)| defines(text)))
        .then(|| format!("`{file}` has no function `{function}`"))
}

/// Returns whether a span is a name of Rust, such as `Engine::write`.
fn is_path_of_names(span: &str) -> bool {
    let is_name = |character: char| character.is_ascii_alphanumeric() || "_:".contains(character);
    !span.is_empty() && span.chars().all(is_name)
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.split(move |character| !is_name(character))
        .filter(|name| !name.is_empty())
}
