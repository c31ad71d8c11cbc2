//! The public surface as a whole, so that it cannot change unseen.

use std::fmt::Write;

use crate::support::Chorus;

#[test]
fn the_help_of_every_command() {
    let mut help = String::new();
    write_help(&chorus::cli::command(), &mut Vec::new(), &mut help);
    insta::assert_snapshot!("help", without_otlp(&help));
}

/// Returns the help as it is without the feature `otlp`, which adds exactly this.
fn without_otlp(help: &str) -> String {
    let added = "      --otlp-endpoint <URL>
          The OpenTelemetry collector that gets a span of every hand-off that ended, such as
          `http://localhost:4318`. If it is not given, `OTEL_EXPORTER_OTLP_ENDPOINT` says where it
          is
          
          [env: CHORUS_OTLP_ENDPOINT]

";
    assert_eq!(
        help.matches(added).count(),
        usize::from(cfg!(feature = "otlp")),
        "{help}"
    );
    help.replace(added, "")
}

/// Writes what the real program says of a command and of those below it.
fn write_help<'a>(command: &'a clap::Command, path: &mut Vec<&'a str>, help: &mut String) {
    let asked: Vec<_> = path.iter().copied().chain(["--help"]).collect();
    let output = Chorus::new(asked.clone()).env("COLUMNS", "100").output();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    writeln!(help, "$ chorus {}\n{text}", asked.join(" ")).unwrap();
    for below in command.get_subcommands() {
        path.push(below.get_name());
        write_help(below, path, help);
        path.pop();
    }
}
