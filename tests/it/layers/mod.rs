//! The architecture: which folder of `src` may use which, and that no migration or test file is forgotten.
//!
//! # How it works
//! [`tokens`] drops the comments of a file, [`parse`] lists the items, imports and paths of its modules, [`tree`] resolves each path
//! through imports and re-exports to the file that defines the item, [`cycles`] finds the files that import each other. [`rules`] has
//! the checks. A method call is not an import; a use of its type is.

mod comments;
mod cycles;
mod items;
mod parse;
mod rules;
mod tokens;
mod tree;
mod tree_tests;
mod uses;

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Lists the files below a folder whose names have an ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_str().unwrap().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn migrations_are_numbered_without_gaps() {
    let names: Vec<_> = files(&root().join("migrations/sqlite"), "")
        .iter()
        .map(|file| file.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    for (number, name) in (1..).zip(&names) {
        assert!(
            name.starts_with(&format!("{number:04}_"))
                && Path::new(name)
                    .extension()
                    .is_some_and(|ending| ending == "sql"),
            "{name} must be called {number:04}_….sql"
        );
    }
    assert!(!names.is_empty());
}

#[test]
fn no_test_file_is_forgotten() {
    for folder in ["tests/it", "tests/support"] {
        for file in files(&root().join(folder), ".rs") {
            let stem = file.file_stem().unwrap().to_str().unwrap();
            let parent = file.parent().unwrap();
            if matches!(stem, "main" | "mod") {
                continue;
            }
            let tables = ["main.rs", "mod.rs"].map(|table| parent.join(table));
            let is_listed = tables
                .iter()
                .filter_map(|table| std::fs::read_to_string(table).ok())
                .any(|table| table.contains(&format!("mod {stem};")));
            assert!(
                is_listed,
                "{} is not declared in the mod.rs or main.rs beside it",
                file.display()
            );
        }
    }
}
