//! The public surface as a whole, so that it cannot change unseen.

use crate::support::Chorus;

#[test]
fn the_help_of_the_program() {
    insta::assert_snapshot!("help", help(&["--help"]));
}

#[test]
fn the_help_of_the_server() {
    insta::assert_snapshot!("help_serve", without_otlp(&help(&["serve", "--help"])));
}

/// Returns the help as it is without the feature `otlp`, which adds exactly this.
fn without_otlp(help: &str) -> String {
    let added = "
      --otlp-endpoint <URL>
          OpenTelemetry collector that gets a span of every ended hand-off
          
          For example `http://localhost:4318`. The default is `OTEL_EXPORTER_OTLP_ENDPOINT`.
          
          [env: CHORUS_OTLP_ENDPOINT]
";
    let found = help.matches(added).count();
    assert_eq!(found, usize::from(cfg!(feature = "otlp")), "{help}");
    help.replace(added, "")
}

fn help(arguments: &[&'static str]) -> String {
    let output = Chorus::new(arguments.to_vec())
        .env("COLUMNS", "100")
        .output();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// The longest help line that fits a terminal beside the name of a command or below the name of an option.
const HELP_LINE: usize = 72;

#[test]
fn every_help_line_is_short_and_without_a_full_stop() {
    let mut wrong = Vec::new();
    check_help(&chorus::cli::command(), "chorus", &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check_help(command: &clap::Command, path: &str, wrong: &mut Vec<String>) {
    let about = command.get_about().map(ToString::to_string);
    wrong.extend(fault_of_help(about).map(|fault| format!("{path}: {fault}")));
    for argument in command.get_arguments() {
        let help = argument.get_help().map(ToString::to_string);
        let id = argument.get_id();
        wrong.extend(fault_of_help(help).map(|fault| format!("{path} {id}: {fault}")));
    }
    for below in command.get_subcommands() {
        check_help(below, &format!("{path} {}", below.get_name()), wrong);
    }
}

fn fault_of_help(help: Option<String>) -> Option<String> {
    let Some(help) = help else {
        return Some("has no help".to_owned());
    };
    let line = help.lines().next().unwrap_or_default();
    if line.chars().count() > HELP_LINE {
        return Some(format!("is too long: {line}"));
    }
    line.ends_with('.')
        .then(|| format!("ends in a full stop: {line}"))
}

/// Old names that scripts and agents may still use, and the commands that they lead to.
#[test]
fn every_old_name_leads_to_its_command() {
    for (old, new) in [
        ("agents list", "agent list"),
        ("agents add", "agent create"),
        ("alert raise", "alert create"),
        ("mail create", "mail send"),
        ("mail list", "mail inbox"),
        ("request routes", "request kinds"),
        ("requests list", "request list"),
        ("task update", "task edit"),
        ("ready", "task ready"),
        ("route", "task route"),
        ("report", "task report"),
        ("await", "request wait"),
        ("await-tag", "tag wait"),
    ] {
        let options = |words: &str| {
            let words: Vec<_> = words.split(' ').chain(["-h"]).collect();
            let output = Chorus::new(words.clone()).env("COLUMNS", "100").output();
            assert!(output.status.success(), "{words:?}");
            let help = String::from_utf8(output.stdout).unwrap();
            let (_, after_usage) = help.split_once("Usage: ").unwrap();
            let (_, options) = after_usage.split_once('\n').unwrap();
            options.to_owned()
        };
        assert_eq!(options(old), options(new), "{old}");
    }
}
