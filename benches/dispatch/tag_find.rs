//! The search for a tag in a large tree, compared with ripgrep on the same bytes.
//!
//! The two answer different questions: ripgrep cannot tell a tag from a mention in code. After the first search, the tree is in
//! the page cache.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::Plan;
use super::support::median;
use super::support::server::this_program;

const TAG: &str = "#needs-implementation";

const IN_FOLDER: usize = 50;

const SENTENCES: &[&str] = &[
    "The parser gives up at the first error, which hides all that come after it.",
    "We agreed to keep the old format readable until the next release.",
    "- [ ] ask whether the index is still needed",
    "- measure it again on a quiet machine #P2",
    "See `src/store/mod.rs` for what a store offers, and issue #214 for why.",
    "> This was decided in March, before the numbers were known.",
    "1. Read the log from the end; the last line before the crash says most.",
    "Nobody has complained since, so it can wait. #S",
];

pub fn run(plan: &Plan) {
    println!("## Finding `{TAG}` in {} files\n", plan.files);
    let tree = plant(plan.files);
    let mut chorus = Command::new(this_program());
    chorus.args(["tag", "find", TAG]);
    let mut ripgrep = Command::new("rg");
    ripgrep.args(["--fixed-strings", "--sort", "none", "--line-number"]);
    ripgrep.args(["--iglob", "*.md", "--iglob", "*.markdown", TAG]);
    let has_ripgrep = Command::new("rg")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let lines = count_lines(&mut chorus, tree.path());
    println!("Lines with the tag, found by chorus: {lines}");
    if has_ripgrep {
        let lines = count_lines(&mut ripgrep, tree.path());
        println!("Lines with the bytes, found by rg: {lines}");
    } else {
        println!("rg is not installed, so there is no comparison; run apt-get install ripgrep");
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        ours.push(time(&mut chorus, tree.path()));
        if has_ripgrep {
            theirs.push(time(&mut ripgrep, tree.path()));
        }
    }
    let ours = median(&mut ours);
    println!("\n| program | median of {} |\n|---|---|", plan.rounds);
    println!("| chorus tag find | {:.1} ms |", milliseconds(ours));
    if has_ripgrep {
        let theirs = median(&mut theirs);
        println!("| rg | {:.1} ms |", milliseconds(theirs));
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        println!("\nchorus takes {ratio:.2} times as long as rg.");
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn count_lines(command: &mut Command, tree: &Path) -> usize {
    let output = command.current_dir(tree).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    output.stdout.split(|byte| *byte == b'\n').count() - 1
}

/// Times a search. Its output is read and dropped.
fn time(command: &mut Command, tree: &Path) -> Duration {
    let start = Instant::now();
    let output = command.current_dir(tree).output().expect("it starts");
    let took = start.elapsed();
    assert!(output.status.success(), "{output:?}");
    took
}

/// Creates a tree of realistic notes: 2 to 4 KB each, three in a hundred with the tag, one with a mention.
fn plant(files: usize) -> TempDir {
    let tree = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("the target folder is writable");
    std::fs::write(tree.path().join(".gitignore"), "build/\n*.log\n").expect("the disk has room");
    for nth in 0..files {
        let folder = tree.path().join(format!(
            "team-{}/week-{:03}",
            nth / IN_FOLDER % 10,
            nth / IN_FOLDER / 10
        ));
        if nth.is_multiple_of(IN_FOLDER) {
            std::fs::create_dir_all(&folder).expect("the disk has room");
        }
        std::fs::write(folder.join(format!("note-{nth:05}.md")), note(nth))
            .expect("the disk has room");
    }
    tree
}

fn note(nth: usize) -> String {
    let mut text = format!("# Note {nth}\n");
    match nth % 100 {
        0 | 1 => writeln!(text, "**Tags**: {TAG} #P1\n"),
        2 => writeln!(text, "\n- [ ] Do it {TAG} #M\n"),
        3 => writeln!(text, "\nSwap `{TAG}` when you begin.\n\n```\n{TAG}\n```\n"),
        4..30 => writeln!(text, "**Tags**: #done-implementation\n"),
        _ => writeln!(text),
    }
    .expect("writing to a string cannot fail");
    let length = 2048 + nth * 37 % 2048;
    let mut next = nth;
    while text.len() < length {
        next = next.wrapping_mul(31).wrapping_add(7);
        text.push_str(SENTENCES[next % SENTENCES.len()]);
        text.push_str(if next.is_multiple_of(5) { "\n\n" } else { "\n" });
    }
    text
}
