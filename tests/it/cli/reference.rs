//! docs/cli.md and docs/cli-server.md: generated from the command line itself. The example of docs/cli.md runs.

use std::fmt::Write;
use std::path::Path;
use std::process::Command as Process;

use clap::{Arg, Command};

use crate::support::{Chorus, Server};

/// The line after which a document is generated.
const MARK: &str =
    "<!-- Generated: CHORUS_BLESS=1 cargo test --test it reference. Do not edit below. -->\n";

/// The largest size of a document.
const LARGEST: usize = 12 * 1024;

#[test]
fn the_reference_of_the_commands_is_current() {
    check("cli.md", &["Work", "People", "Files"]);
}

#[test]
fn the_reference_of_the_server_is_current() {
    check("cli-server.md", &["Server"]);
}

#[test]
fn the_references_have_every_group() {
    let groups: Vec<_> = chorus::cli::groups().map(|(group, _)| group).collect();
    assert_eq!(groups, ["Work", "People", "Files", "Server"]);
}

#[test]
fn the_example_of_the_reference_runs() {
    let document = std::fs::read_to_string(path("cli.md")).unwrap();
    let script = document.split("```sh\n").nth(1).unwrap();
    let script = script.split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::spawn(
        &folder.path().join("data"),
        Chorus::new(["serve", "--port", "0"]),
    );
    let programs = Path::new(env!("CARGO_BIN_EXE_chorus")).parent().unwrap();
    let output = Process::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(folder.path())
        .env(
            "PATH",
            format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()),
        )
        .env("CHORUS_URL", &server.url)
        .output()
        .unwrap();
    let (shown, complained) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{shown}\n{complained}");
    for part in ["greeter made\n", "HELLO, CHORUS\n", "completed"] {
        assert!(shown.contains(part), "{part}\nis not in\n{shown}");
    }
}

fn path(file: &str) -> String {
    format!("{}/docs/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// Compares a document with the command line, or brings it up to date if `CHORUS_BLESS` is set.
fn check(file: &str, groups: &[&str]) {
    let path = path(file);
    let document = std::fs::read_to_string(&path).unwrap();
    let (written, _) = document.split_once(MARK).unwrap();
    let current = format!("{written}{MARK}{}", reference(groups));
    if std::env::var_os("CHORUS_BLESS").is_some() {
        std::fs::write(&path, &current).unwrap();
    } else {
        assert!(
            document == current,
            "docs/{file} is stale: run CHORUS_BLESS=1 cargo test --test it reference"
        );
    }
    assert!(
        current.len() <= LARGEST,
        "docs/{file} has {} bytes",
        current.len()
    );
}

fn reference(groups: &[&str]) -> String {
    let program = chorus::cli::command();
    let mut text = String::new();
    for (group, names) in chorus::cli::groups().filter(|(group, _)| groups.contains(group)) {
        write!(text, "\n## {group}\n").unwrap();
        let commands = names
            .iter()
            .map(|name| program.find_subcommand(name).unwrap());
        let (nouns, plain): (Vec<_>, Vec<_>) =
            commands.partition(|command| command.has_subcommands());
        for command in plain {
            write_command(&mut text, command.get_name(), command, &mut Vec::new());
        }
        for noun in nouns {
            write_noun(&mut text, noun);
        }
    }
    text
}

/// Writes the commands of a noun. An option that several of them have is explained at the first.
fn write_noun(text: &mut String, noun: &Command) {
    write!(text, "\n### {}\n", noun.get_name()).unwrap();
    let mut explained = Vec::new();
    for command in noun
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        write_command(text, command.get_name(), command, &mut explained);
    }
}

fn write_command(text: &mut String, name: &str, command: &Command, explained: &mut Vec<String>) {
    write!(text, "\n`{name}{}`: {}\n", usage(command), about(command)).unwrap();
    let mut known = Vec::new();
    for option in command
        .get_arguments()
        .filter(|argument| is_listed(argument))
    {
        let line = option_line(option);
        if let Some(place) = explained.iter().position(|known| *known == line) {
            known.push((place, option.get_long().unwrap()));
        } else {
            text.push_str(&line);
            explained.push(line);
        }
    }
    let runs = known.chunk_by(|(one, _), (next, _)| one + 1 == *next);
    let runs: Vec<_> = runs.map(run_of_options).collect();
    if !runs.is_empty() {
        writeln!(text, "- {}: see above", runs.join(", ")).unwrap();
    }
}

/// Writes options that follow one another in the list above.
fn run_of_options(run: &[(usize, &str)]) -> String {
    match run {
        [(_, only)] => format!("`--{only}`"),
        [(_, first), .., (_, last)] => format!("`--{first}` to `--{last}`"),
        [] => unreachable!("a chunk is never empty"),
    }
}

/// Leaves out positional arguments, and the options that docs/cli.md explains once for all commands.
fn is_listed(argument: &Arg) -> bool {
    let is_common = match argument.get_id().as_str() {
        // Only a build with the feature `otlp` has the collector.
        "url" | "json" | "otlp_endpoint" => true,
        "data_dir" => argument.get_help_heading() == Some("Common options"),
        "limit" | "after" => value_name(argument) != "N" && value_name(argument) != "NUMBER",
        _ => false,
    };
    argument.get_long().is_some() && !is_common && !argument.is_hide_set()
}

fn option_line(option: &Arg) -> String {
    let help = option.get_help().unwrap().to_string();
    let help = help.replace("; - reads standard input", " (or -)");
    let defaults: Vec<_> = option
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy())
        .collect();
    let is_flag = !option.get_action().takes_values();
    if is_flag || option.is_hide_default_value_set() || defaults.is_empty() {
        format!("- `{}` {help}\n", option_usage(option))
    } else {
        format!(
            "- `{}` {help} [{}]\n",
            option_usage(option),
            defaults.join(",")
        )
    }
}

fn about(command: &Command) -> String {
    command.get_about().unwrap().to_string()
}

fn usage(command: &Command) -> String {
    let mut usage = String::new();
    for argument in command.get_positionals() {
        let name = value_name(argument);
        let is_list = argument
            .get_num_args()
            .is_some_and(|number| number.max_values() > 1);
        let dots = if is_list { "…" } else { "" };
        if argument.is_required_set() {
            write!(usage, " {name}{dots}").unwrap();
        } else {
            write!(usage, " [{name}{dots}]").unwrap();
        }
    }
    usage
}

fn option_usage(option: &Arg) -> String {
    let name = option.get_long().unwrap();
    if option.get_action().takes_values() {
        format!("--{name} {}", value_name(option))
    } else {
        format!("--{name}")
    }
}

fn value_name(argument: &Arg) -> String {
    match argument.get_value_names() {
        Some([name, ..]) => name.to_string(),
        _ => argument.get_id().as_str().to_uppercase(),
    }
}
