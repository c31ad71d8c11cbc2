//! The names that each folder may use. A failure lists every violation: file, line and name.

use std::sync::LazyLock;

use super::cycles::describe_cycles;
use super::parse::Module;
use super::tokens::{Kind, Token};
use super::tree::{File, Tree};

static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::read(&super::root().join("src")));

/// The folders without import cycles.
const WITHOUT_CYCLES: [&str; 4] = ["domain", "store/tables", "ledger", "engine"];

/// A folder of `src`, the folders that it may use, and other paths that it must not use.
type Arrows = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// From the lowest up: `cli, api, web → engine → runner → ledger → store → domain`. `words` is beside `store`.
#[rustfmt::skip]
const ARROWS: [Arrows; 14] = [
    ("domain", &[], &["tokio", "axum", "std::fs", "std::process", "std::net"]),
    ("store", &["domain"], &["axum"]),
    ("words", &["domain"], &["tokio", "axum", "std::fs", "std::process", "std::net"]),
    ("ledger", &["domain", "words", "store", "telemetry"], &[
        "crate::store::sqlite", "tokio", "axum", "std::fs", "std::process", "std::net",
    ]),
    ("supervisor", &[], &["tokio", "axum"]),
    ("peer", &["domain", "supervisor"], &["axum", "hyper"]),
    ("tags", &["domain", "words"], &["tokio", "axum"]),
    ("telemetry", &["domain"], &[]),
    ("runner", &["domain", "words", "store", "ledger", "supervisor", "telemetry"], &["axum"]),
    ("engine", &["domain", "store", "ledger", "supervisor", "tags", "telemetry", "runner"], &["axum"]),
    ("web", &["domain", "engine"], &["std::process"]),
    ("api", &["domain", "words", "ledger", "telemetry", "peer", "runner", "engine", "web"], &["std::process"]),
    ("client", &["domain", "api"], &[]),
    ("cli", &[
        "domain", "words", "store", "ledger", "supervisor", "peer", "tags", "telemetry", "runner", "engine", "web", "api", "client",
    ], &["std::process::Command"]),
];

/// The commands that work on the database itself: they open it, migrate it, read its version, or explain why it cannot be opened.
const DATABASE_COMMANDS: [&str; 4] = [
    "cli/ledger.rs",
    "cli/migrate.rs",
    "cli/doctor/mod.rs",
    "cli/ui/failure.rs",
];

/// Returns the files of a folder. A folder without files is a violation: a check that reads nothing proves nothing.
fn files_of(folder: &str, found: &mut Vec<String>) -> Vec<(usize, &'static File)> {
    let prefix = format!("{folder}/");
    let files = TREE.files.iter().enumerate();
    let files: Vec<_> = files
        .filter(|(_, file)| file.name.starts_with(&prefix))
        .collect();
    if files.is_empty() {
        found.push(format!("src/{folder} has no Rust files to check"));
    }
    files
}

/// Lists the paths in a file that start with a forbidden prefix.
fn list_uses(index: usize, forbidden: &[&str]) -> Vec<String> {
    let modules = TREE.modules.iter().filter(|module| module.file == index);
    let references = modules.flat_map(|module: &Module| {
        let references = module.references.iter();
        references.map(|reference| (reference.line, module.spell_out(&reference.path)))
    });
    let mut found: Vec<_> = references
        .filter(|(_, path)| forbidden.iter().any(|prefix| is_below(path, prefix)))
        .collect();
    found.sort();
    let name = &TREE.files[index].name;
    let lines = found
        .iter()
        .map(|(line, path)| format!("src/{name}:{line} uses {path}"));
    lines.collect()
}

fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Lists the tokens of a file that are forbidden.
fn list_tokens(file: &File, is_forbidden: impl Fn(&Token) -> bool) -> Vec<String> {
    let found = file.tokens.iter().filter(|token| is_forbidden(token));
    found
        .map(|token| {
            let words: Vec<_> = token.text.split_whitespace().take(6).collect();
            format!("src/{}:{} has {}", file.name, token.line, words.join(" "))
        })
        .collect()
}

fn names_driver(token: &Token) -> bool {
    let is_driver = ["rusqlite", "sqlx", "libsqlite3_sys"].contains(&token.text.as_str());
    token.kind == Kind::Word && (is_driver || token.text.starts_with("Sqlite"))
}

/// Returns whether a token is a string literal that contains SQL, or the name of the macro that builds a statement.
fn has_sql(token: &Token) -> bool {
    let is_apart = |c: char| !c.is_alphanumeric() && c != '_';
    let words: Vec<_> = token.text.split(is_apart).collect();
    let has = |word| words.contains(&word);
    match token.kind {
        Kind::Word => token.text == "sql",
        Kind::Text => {
            has("SELECT")
                || has("PRAGMA")
                || (has("INSERT") && has("INTO"))
                || (has("DELETE") && has("FROM"))
                || (has("UPDATE") && has("SET"))
        }
        Kind::Mark | Kind::Other => false,
    }
}

fn assert_none(found: &[String], rule: &str) {
    assert!(
        found.is_empty(),
        "{rule}\nViolations: {}\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn dependencies_point_down() {
    let mut found = Vec::new();
    for (folder, may_use, others) in ARROWS {
        let folders = ARROWS.iter().map(|(other, _, _)| *other);
        let above = folders.filter(|other| *other != folder && !may_use.contains(other));
        let above: Vec<_> = above.map(|other| format!("crate::{other}")).collect();
        let forbidden = above
            .iter()
            .map(String::as_str)
            .chain(others.iter().copied());
        let forbidden: Vec<_> = forbidden.collect();
        for (index, _) in files_of(folder, &mut found) {
            found.extend(list_uses(index, &forbidden));
        }
    }
    assert_none(
        &found,
        "Dependencies point down: cli, api, web → engine → runner → ledger → store → domain",
    );
}

#[test]
fn every_folder_is_in_the_table_of_arrows() {
    for file in &TREE.files {
        if let Some((folder, _)) = file.name.split_once('/') {
            let is_listed = ARROWS.iter().any(|(listed, _, _)| *listed == folder);
            assert!(
                is_listed,
                "src/{folder} is not in ARROWS: add it, and list the folders that it may use"
            );
        }
    }
}

#[test]
fn commands_reach_the_database_through_the_engine() {
    let mut found = Vec::new();
    for (index, file) in files_of("cli", &mut found) {
        if !DATABASE_COMMANDS.contains(&file.name.as_str()) {
            found.extend(list_uses(index, &["crate::store"]));
        }
    }
    for name in DATABASE_COMMANDS {
        assert!(
            TREE.files.iter().any(|file| file.name == name),
            "src/{name} does not exist: remove it from DATABASE_COMMANDS"
        );
    }
    assert_none(
        &found,
        &format!(
            "Only these files of src/cli may use the store: {}",
            DATABASE_COMMANDS.join(", ")
        ),
    );
}

/// Lists the paths of the API and the JSON that a file builds by hand.
fn list_handmade_requests(file: &File) -> Vec<String> {
    let is_path = |token: &Token| token.kind == Kind::Text && token.text.starts_with("/api/");
    let mut found = list_tokens(file, is_path);
    let pairs = file.tokens.windows(2);
    let json = pairs.filter(|pair| pair[0].is_word("json") && pair[1].is_mark("!"));
    found.extend(json.map(|pair| format!("src/{}:{} has json!", file.name, pair[0].line)));
    found
}

#[test]
fn commands_send_requests_through_the_typed_client() {
    let mut found = Vec::new();
    for (_, file) in files_of("cli", &mut found) {
        found.extend(list_handmade_requests(file));
    }
    assert_none(
        &found,
        "A command calls a method of the client with an input type: src/cli has neither a path of the API nor json!",
    );
}

#[test]
fn only_the_store_has_sql() {
    let mut found = Vec::new();
    let folders = ARROWS.iter().map(|(folder, _, _)| *folder);
    for folder in folders.filter(|folder| *folder != "store") {
        for (_, file) in files_of(folder, &mut found) {
            found.extend(list_tokens(file, has_sql));
        }
    }
    assert_none(&found, "SQL is allowed in src/store only");
}

#[test]
fn only_the_sqlite_folder_names_a_driver() {
    let mut found = Vec::new();
    files_of("store/sqlite", &mut found);
    for file in &TREE.files {
        if !file.name.starts_with("store/sqlite/") {
            found.extend(list_tokens(file, names_driver));
        }
    }
    assert_none(
        &found,
        "rusqlite, sqlx and Sqlite… types are allowed in src/store/sqlite only",
    );
}

#[test]
fn tables_hold_statements_and_no_rules() {
    let mut found = Vec::new();
    for (index, file) in files_of("store/tables", &mut found) {
        found.extend(list_uses(index, &["crate::ledger", "crate::store::sqlite"]));
        found.extend(list_tokens(file, names_driver));
        found.extend(list_tokens(file, |token| {
            token.kind == Kind::Word
                && (token.text.contains("Refusal") || token.text == "EventKind")
        }));
    }
    assert_none(
        &found,
        "A file of src/store/tables must not refuse, record events, call the ledger or name a driver",
    );
}

#[test]
fn no_folder_has_an_import_cycle() {
    let found: Vec<_> = WITHOUT_CYCLES
        .iter()
        .flat_map(|folder| describe_cycles(&TREE, folder))
        .collect();
    assert_none(
        &found,
        "Import cycles are not allowed. `a.rs:12 (B, load) → b.rs` means: a.rs uses B and load of b.rs, first on line 12",
    );
}

/// The cycle check cannot see names that it does not resolve.
#[test]
fn every_path_resolves_to_the_file_that_defines_it() {
    assert_none(
        &TREE.unknown_names(),
        "Every path into the crate must resolve to an item or a module. Of the names that a macro defines, only capitalised ones are known",
    );
}
