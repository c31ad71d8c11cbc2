//! The tree: which part may use which, and that nothing was forgotten.

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Lists the files below a folder that end so.
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

/// Checks that no file of a part contains any of these words.
fn never_uses(part: &str, words: &[&str]) {
    for file in files(&root().join("src").join(part), ".rs") {
        let text = std::fs::read_to_string(&file).unwrap();
        for word in words {
            assert!(
                !text.contains(word),
                "{} must not use {word}",
                file.display()
            );
        }
    }
}

#[test]
fn dependencies_point_down() {
    never_uses(
        "domain",
        &[
            "crate::store",
            "crate::tags",
            "crate::engine",
            "crate::api",
            "crate::cli",
            "crate::client",
            "tokio",
            "std::fs",
            "sqlx",
            "rusqlite",
        ],
    );
    never_uses(
        "store",
        &[
            "crate::engine",
            "crate::api",
            "crate::cli",
            "crate::client",
            "axum",
        ],
    );
    never_uses(
        "supervisor",
        &[
            "tokio",
            "crate::store",
            "crate::runner",
            "crate::engine",
            "crate::api",
            "crate::cli",
        ],
    );
    never_uses(
        "tags",
        &[
            "tokio",
            "crate::store",
            "crate::runner",
            "crate::supervisor",
            "crate::engine",
            "crate::api",
            "crate::cli",
            "crate::client",
        ],
    );
    never_uses(
        "runner",
        &[
            "crate::engine",
            "crate::api",
            "crate::cli",
            "crate::client",
            "axum",
            "sqlx",
            "rusqlite",
            "Sqlite",
        ],
    );
    never_uses(
        "engine",
        &[
            "crate::api",
            "crate::cli",
            "crate::client",
            "axum",
            "sqlx",
            "rusqlite",
            "Sqlite",
        ],
    );
    never_uses(
        "api",
        &[
            "crate::cli",
            "crate::client",
            "sqlx",
            "rusqlite",
            "Sqlite",
            "std::process",
        ],
    );
    never_uses(
        "web",
        &[
            "crate::api",
            "crate::cli",
            "crate::client",
            "crate::store",
            "sqlx",
            "rusqlite",
            "std::process",
        ],
    );
    never_uses(
        "client",
        &[
            "crate::cli",
            "crate::engine",
            "crate::store",
            "sqlx",
            "rusqlite",
        ],
    );
    never_uses(
        "telemetry",
        &[
            "crate::store",
            "crate::runner",
            "crate::engine",
            "crate::api",
            "crate::cli",
            "crate::client",
        ],
    );
    never_uses("cli", &["sqlx", "rusqlite", "std::process::Command"]);
}

#[test]
fn only_the_store_has_sql() {
    for part in [
        "domain",
        "supervisor",
        "runner",
        "tags",
        "engine",
        "api",
        "web",
        "client",
        "cli",
    ] {
        never_uses(
            part,
            &[
                "SELECT ",
                "INSERT INTO",
                "UPDATE ",
                "DELETE FROM",
                "PRAGMA ",
            ],
        );
    }
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
            "{name}"
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
            assert!(is_listed, "{} is in no mod.rs", file.display());
        }
    }
}
