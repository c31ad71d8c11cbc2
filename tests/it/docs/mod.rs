//! The documents: every page is short, its links and commands exist, and its examples run and print what the page shows. The page on
//! the architecture names only files and functions that exist.
//!
//! # How it works
//! All `sh` blocks of a page are one script, which bash runs in an empty directory with the real program on its path. A `text` block
//! directly below an `sh` block is the output of that block: ids, times and durations may differ, and `…` stands for any text, or on a
//! line of its own for any lines. The output is written to a terminal of 100 columns, so that a page shows what its reader sees. A
//! block that cannot run here begins with `sh no-run`.
//!
//! `CHORUS_DOCS=overwrite cargo test --test it docs::` writes the real output into the pages where it differs; put each `…` back.

mod code;
mod commands;
mod links;
mod output;
mod page;
mod permissions;
mod script;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use page::Page;

/// Makes a test of each page, so that a failure names the page.
macro_rules! pages {
    ($($test:ident: $path:literal,)+) => {
        const PAGES: &[&str] = &[$($path),+];

        $(#[test]
        fn $test() {
            check($path);
        })+
    };
}

pages! {
    readme: "README.md",
    agents_and_providers: "docs/agents-and-providers.md",
    architecture: "docs/architecture.md",
    cli: "docs/cli.md",
    cli_people: "docs/cli-people.md",
    cli_server: "docs/cli-server.md",
    concepts: "docs/concepts.md",
    delegating: "docs/delegating.md",
    http_api: "docs/http-api.md",
    mail: "docs/mail.md",
    observing: "docs/observing.md",
    operating: "docs/operating.md",
    performance: "docs/performance.md",
    quick_start: "docs/quick-start.md",
    requests_and_tags: "docs/requests-and-tags.md",
    roles_and_increments: "docs/roles-and-increments.md",
    schema: "docs/schema.md",
    transfers_and_sessions: "docs/transfers-and-sessions.md",
    web: "docs/web.md",
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The number of bytes that a page may have.
fn limit(path: &str) -> usize {
    if path == "README.md" {
        8 * 1024
    } else {
        12 * 1024
    }
}

fn check(path: &str) {
    let page = Page::read(root(), path);
    let mut problems = Vec::new();
    if page.text.len() > limit(path) {
        let size = page.text.len();
        problems.push(format!("{size} bytes; at most {} are allowed", limit(path)));
    }
    if page.examples().next().is_none() {
        problems.push("there is no example: add an `sh` block".to_owned());
    }
    problems.extend(links::problems(root(), &page));
    problems.extend(commands::problems(&page));
    if path == "docs/architecture.md" {
        problems.extend(code::problems(root(), &page));
    }
    assert!(problems.is_empty(), "{path}:\n{}", problems.join("\n"));
    script::run(&page);
}

#[test]
fn every_page_has_a_test() {
    let markdown = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let folder = std::fs::read_dir(root().join("docs")).unwrap();
    let pages: BTreeSet<_> = folder
        .map(|entry| entry.unwrap().path())
        .filter(markdown)
        .map(|path| format!("docs/{}", path.file_name().unwrap().to_str().unwrap()))
        .chain(["README.md".to_owned()])
        .collect();
    let listed = PAGES.iter().map(|page| (*page).to_owned()).collect();
    assert_eq!(pages, listed);
}
