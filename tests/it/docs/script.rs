//! Runs the examples of a page.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::output::is_shown;
use super::page::{Block, Page};
use super::root;
use crate::support::reserve_port;

/// The directory in which a reader tries the examples, as the pages show it.
const FOLDER: &str = "/home/you/try";

/// The port of a server that is started without `--port`.
const PORT: &str = "8080";

/// Printed between the outputs of two blocks: the record separator of ASCII.
const SEPARATOR: char = '\u{1e}';

const SECONDS: &str = "180";

/// Runs the examples of a page, and compares their outputs with what the page shows.
pub fn run(page: &Page) {
    let examples: Vec<_> = page.examples().collect();
    let printed = print(page, &examples);
    let outputs: Vec<_> = printed.split(SEPARATOR).collect();
    assert_eq!(outputs.len(), examples.len(), "{printed}");
    let differ: Vec<_> = examples
        .iter()
        .zip(outputs)
        .filter_map(|((_, shown), printed)| {
            shown.map(|shown| (shown, printed.trim_start_matches('\n')))
        })
        .filter(|(shown, printed)| !is_shown(&shown.text, printed))
        .collect();
    if differ.is_empty() {
        return;
    }
    if std::env::var("CHORUS_DOCS").is_ok_and(|word| word == "overwrite") {
        overwrite(page, &differ);
    }
    let differ = differ.iter().map(|(shown, printed)| {
        let line = shown.first_line + 1;
        format!(
            "{}:{line} shows\n{}\nbut the example prints\n{printed}",
            page.path, shown.text
        )
    });
    panic!("{}", differ.collect::<Vec<_>>().join("\n"));
}

/// Runs the examples as one script, and returns what they print.
fn print(page: &Page, examples: &[(&Block, Option<&Block>)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let port = reserve_port();
    let blocks: Vec<_> = examples
        .iter()
        .map(|(block, _)| block.text.replace(PORT, &port))
        .collect();
    let script = format!(
        "set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n{}",
        blocks.join(&format!("printf '{SEPARATOR}\\n'\n"))
    );
    let program = Path::new(env!("CARGO_BIN_EXE_chorus"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let (mut terminal, stdout) = open_terminal();
    let reader = std::thread::spawn(move || {
        let mut printed = Vec::new();
        // Reading fails when the last writer is gone: that is the end.
        let _ = terminal.read_to_end(&mut printed);
        without_colours(&String::from_utf8_lossy(&printed).replace('\r', ""))
    });
    let errors = tempfile::tempfile().unwrap();
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=10", SECONDS, "bash", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("CHORUS_PORT", &port)
        .env("CHORUS_URL", format!("http://127.0.0.1:{port}"))
        .env("NO_COLOR", "1")
        .env("USER", "you")
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(errors.try_clone().unwrap());
    let status = command.status().unwrap();
    // The command holds the terminal open.
    drop(command);
    let printed = reader.join().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let as_shown = |text: &str| {
        text.replace(folder.to_str().unwrap(), FOLDER)
            .replace(&port, PORT)
    };
    let printed = as_shown(&printed);
    assert!(
        status.success(),
        "{}: {status}\n{printed}\n{}",
        page.path,
        as_shown(&read(errors))
    );
    printed
}

/// Removes the colours of programs that do not respect `NO_COLOR`.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once('m').map_or(part, |(_, behind)| behind)
    })
}

fn read(mut file: File) -> String {
    use std::io::Seek;
    file.rewind().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

/// Opens a terminal of 100 columns. Returns the side that shows, and the side that is written to.
fn open_terminal() -> (File, OwnedFd) {
    let shows = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&shows).unwrap();
    unlockpt(&shows).unwrap();
    let name = ptsname(&shows, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let written = open(name.as_c_str(), flags, Mode::empty()).unwrap();
    let size = Winsize {
        ws_row: 40,
        ws_col: 100,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&written, size).unwrap();
    (File::from(shows), written)
}

/// Writes outputs into a page.
fn overwrite(page: &Page, differ: &[(&Block, &str)]) {
    let mut lines: Vec<_> = page.text.lines().collect();
    for (shown, printed) in differ.iter().rev() {
        let place = shown.first_line..shown.first_line + shown.text.lines().count();
        lines.splice(place, printed.trim_end().lines().map(str::trim_end));
    }
    std::fs::write(root().join(&page.path), lines.join("\n") + "\n").unwrap();
}
