//! Tests of the resolver on small trees.

use super::cycles::describe_cycles;
use super::tree::Tree;

fn tree(sources: &[(&str, &str)]) -> Tree {
    let owned = sources.iter();
    Tree::new(owned.map(|(name, source)| ((*name).to_owned(), (*source).to_owned())))
}

/// Lists the imports within `ledger` as `a.rs:1 b.rs`.
fn imports(sources: &[(&str, &str)]) -> Vec<String> {
    let tree = tree(sources);
    assert_eq!(tree.unknown_names(), Vec::<String>::new());
    let name = |file: usize| tree.files[file].name.trim_start_matches("ledger/");
    let imports = tree.imports_within("ledger/");
    let show = imports
        .iter()
        .map(|import| format!("{}:{} {}", name(import.from), import.line, name(import.to)));
    show.collect()
}

const NONE: [&str; 0] = [];
const LIB: (&str, &str) = ("lib.rs", "pub mod ledger;");
const B: (&str, &str) = ("ledger/b.rs", "pub struct B;\npub fn load() {}");

#[test]
fn a_name_in_nested_braces_resolves_to_its_file() {
    let a = "use super::{\n    b::{self, B},\n    deep::{c::C as Other},\n};";
    assert_eq!(
        imports(&[
            LIB,
            ("ledger/mod.rs", "mod a; mod b; mod deep;"),
            ("ledger/a.rs", a),
            B,
            ("ledger/deep/mod.rs", "pub mod c;"),
            ("ledger/deep/c.rs", "pub enum C {}"),
        ]),
        ["a.rs:2 b.rs", "a.rs:3 deep/c.rs"]
    );
}

#[test]
fn a_qualified_path_is_an_import() {
    let contents = ("ledger/mod.rs", "mod a; mod b;");
    for code in [
        "super::b::load()",
        "crate::ledger::b::load()",
        "self::super::b::load()",
        "Some(0..super::b::load::<u8>())",
    ] {
        let a = format!("\nfn f() {{ {code}; }}");
        assert_eq!(
            imports(&[LIB, contents, ("ledger/a.rs", &a), B]),
            ["a.rs:2 b.rs"],
            "{code}"
        );
    }
}

#[test]
fn a_path_through_an_imported_module_resolves_to_the_last_file() {
    let a = "use super::deep as d;\nfn f() { d::c::go(); }";
    assert_eq!(
        imports(&[
            LIB,
            ("ledger/mod.rs", "mod a; mod deep;"),
            ("ledger/a.rs", a),
            ("ledger/deep/mod.rs", "pub mod c; pub struct Unused;"),
            ("ledger/deep/c.rs", "pub fn go() {}"),
        ]),
        ["a.rs:2 deep/c.rs"]
    );
}

#[test]
fn a_reexport_resolves_to_the_file_that_defines_the_item() {
    assert_eq!(
        imports(&[
            LIB,
            ("ledger/mod.rs", "mod a; mod deep; pub use deep::{C, go};"),
            (
                "ledger/a.rs",
                "use crate::ledger::C;\nfn f() { super::go(); }"
            ),
            (
                "ledger/deep/mod.rs",
                "mod c; mod go; pub use c::C; pub(super) use go::*;"
            ),
            ("ledger/deep/c.rs", "pub struct C;"),
            ("ledger/deep/go.rs", "pub fn go() {}"),
        ]),
        ["a.rs:1 deep/c.rs", "a.rs:2 deep/go.rs"]
    );
}

#[test]
fn a_mod_rs_that_defines_items_counts_like_any_other_file() {
    let rest = [LIB, ("ledger/a.rs", "use super::Shared;"), B];
    let with = |contents| imports(&[&rest[..], &[("ledger/mod.rs", contents)]].concat());
    assert_eq!(
        with("mod a; mod b; pub use b::B; pub struct Shared;"),
        ["a.rs:1 mod.rs"]
    );
    assert_eq!(
        with("mod a; mod b; pub use b::B;\npub struct Shared(B);"),
        ["a.rs:1 mod.rs", "mod.rs:2 b.rs"]
    );
}

#[test]
fn a_glob_import_counts_only_the_names_that_are_used() {
    assert_eq!(
        imports(&[
            LIB,
            (
                "ledger/mod.rs",
                "mod a; mod b; mod c; pub use b::B; pub use c::C;"
            ),
            ("ledger/a.rs", "use super::*;\nstruct A(B);"),
            B,
            ("ledger/c.rs", "pub struct C;"),
        ]),
        ["a.rs:2 b.rs"]
    );
}

#[test]
fn tests_comments_strings_and_methods_are_not_imports() {
    let a = "// use super::b::B;\n/// [`super::b::B`]\nfn f(x: u8) { x.load(); say(\"super::b::load()\"); }\n\
        #[cfg(test)]\nuse super::b::B;\nimpl A { #[cfg(test)]\n fn g(&self) { super::b::load() } }\n\
        #[cfg(test)]\nmod tests { use super::super::b::B; }";
    assert_eq!(
        imports(&[
            LIB,
            ("ledger/mod.rs", "mod a; mod b;\n#[cfg(test)]\nmod cases;"),
            ("ledger/a.rs", a),
            ("ledger/cases.rs", "use super::b::B;"),
            B,
        ]),
        NONE
    );
}

#[test]
fn only_conditions_that_need_a_test_build_are_skipped() {
    let contents = ("ledger/mod.rs", "mod a; mod b;");
    let skipped = [
        "#[test]",
        "#[tokio::test(flavor = \"x\")]",
        "#[cfg(all(unix, test))]",
    ];
    let read = [
        "#[cfg(not(test))]",
        "#[cfg(any(test, unix))]",
        "#[expect(unused, reason = \"a test\")]",
    ];
    for attribute in skipped {
        let a = format!("{attribute} fn f() {{ super::b::load() }}");
        assert_eq!(
            imports(&[LIB, contents, ("ledger/a.rs", &a), B]),
            NONE,
            "{attribute}"
        );
    }
    for attribute in read {
        let a = format!("{attribute} fn f() {{ super::b::load() }}");
        assert_eq!(
            imports(&[LIB, contents, ("ledger/a.rs", &a), B]),
            ["a.rs:1 b.rs"],
            "{attribute}"
        );
    }
}

#[test]
fn macros_and_the_types_they_define_are_found() {
    assert_eq!(
        imports(&[
            LIB,
            ("ledger/mod.rs", "mod a; mod b; mod ids;"),
            ("ledger/a.rs", "use super::ids::TaskId;"),
            ("ledger/ids.rs", "use super::b::id;\nid! { TaskId }"),
            (
                "ledger/b.rs",
                "macro_rules! id { ($name:ident) => { struct $name; } }\npub(super) use id;"
            ),
        ]),
        ["a.rs:1 ids.rs", "ids.rs:1 b.rs"]
    );
}

#[test]
fn an_unknown_name_is_reported() {
    let tree = tree(&[
        LIB,
        ("ledger/mod.rs", "mod a; mod b;"),
        ("ledger/a.rs", "\nuse super::b::Missing;"),
        B,
    ]);
    assert_eq!(
        tree.unknown_names(),
        ["src/ledger/a.rs:2 names super::b::Missing"]
    );
}

#[test]
fn a_cycle_is_reported_with_the_lines_that_form_it() {
    let tree = tree(&[
        LIB,
        ("ledger/mod.rs", "mod a; mod b; mod deep; mod out;"),
        ("ledger/a.rs", "use super::deep::C;\npub struct A;"),
        ("ledger/b.rs", "\n\npub fn load(_: super::a::A) {}"),
        ("ledger/deep/mod.rs", "mod c; pub use c::C;"),
        (
            "ledger/deep/c.rs",
            "\nuse super::super::{b, out};\npub struct C;\nfn f() { b::load(); out::go(); }",
        ),
        ("ledger/out.rs", "pub fn go() {}"),
    ]);
    assert_eq!(
        describe_cycles(&tree, "ledger"),
        [
            "src/ledger: a cycle of 3 files: a.rs, b.rs, deep/c.rs\n    a.rs:1 (C) → deep/c.rs:4 (load) → b.rs:3 (A) → a.rs"
        ]
    );
}

#[test]
fn two_cycles_are_reported_separately_and_a_chain_is_not_a_cycle() {
    let contents = ("ledger/mod.rs", "mod a; mod b; mod c; mod d;");
    let a = ("ledger/a.rs", "use super::b::B; pub struct A;");
    let c = ("ledger/c.rs", "use super::d::D; pub struct C;");
    let b = ("ledger/b.rs", "use super::c::C; pub struct B;");
    let chain = tree(&[LIB, contents, a, b, c, ("ledger/d.rs", "pub struct D;")]);
    assert_eq!(describe_cycles(&chain, "ledger"), NONE);

    let b = (
        "ledger/b.rs",
        "use super::a::A; use super::c::C; pub struct B;",
    );
    let both = tree(&[
        LIB,
        contents,
        a,
        b,
        c,
        ("ledger/d.rs", "use super::c::C; pub struct D;"),
    ]);
    let found = describe_cycles(&both, "ledger");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].ends_with("a.rs:1 (B) → b.rs:1 (A) → a.rs"),
        "{found:?}"
    );
    assert!(
        found[1].ends_with("c.rs:1 (D) → d.rs:1 (C) → c.rs"),
        "{found:?}"
    );
}

#[test]
fn a_folder_without_files_is_reported() {
    assert_eq!(
        describe_cycles(&tree(&[("lib.rs", "")]), "ledger"),
        ["src/ledger has no Rust files to check"]
    );
}

#[test]
fn paths_are_spelled_out_from_the_root() {
    let tree = tree(&[
        ("lib.rs", ""),
        (
            "api/mail.rs",
            "use super::super::store::Page; use std::{fs, io}; fn f() { ::tokio::go() }",
        ),
    ]);
    let module = tree
        .modules
        .iter()
        .find(|module| module.path.len() == 2)
        .unwrap();
    let paths = module
        .references
        .iter()
        .map(|reference| module.spell_out(&reference.path));
    let paths: Vec<_> = paths.collect();
    assert_eq!(paths[..3], ["crate::store::Page", "std::fs", "std::io"]);
    assert!(paths.contains(&"tokio::go".to_owned()), "{paths:?}");
}
