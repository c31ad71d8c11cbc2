//! Finds the programs of agents.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::launch::CommandLine;
use crate::domain::Provider;

/// The time limit of a question.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time limit of the creation of a database.
const LONGEST_PREPARATION: Duration = Duration::from_secs(30);

/// Finds a program by its path or on `PATH`.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(is_program)
}

/// Returns the first line that `--version` prints, or `None` at the time limit.
pub fn version(program: &Path) -> Option<String> {
    let output = answer(Command::new(program).arg("--version"), PATIENCE)?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .map(str::to_owned)
}

/// Asks a program whether it is logged in. `None` if the program cannot tell.
pub fn is_logged_in(provider: Provider, program: &Path) -> Option<bool> {
    let arguments = match provider {
        Provider::ClaudeCode => ["auth", "status"],
        Provider::Codex => ["login", "status"],
        Provider::OpenCode | Provider::Gemini | Provider::Command => return None,
    };
    match answer(Command::new(program).args(arguments), PATIENCE)?
        .status
        .code()?
    {
        0 => Some(true),
        1 => Some(false),
        // A version without this command.
        _ => None,
    }
}

/// Makes OpenCode create its database. An error shows in the run itself.
pub fn prepare(line: &CommandLine, inherited: &[(OsString, OsString)]) {
    let mut command = Command::new(&line.program);
    command
        .args(["session", "list"])
        .env_clear()
        .envs(inherited.iter().map(|(name, value)| (name, value)))
        .envs(&line.environment);
    let _ = answer(&mut command, LONGEST_PREPARATION);
}

/// Runs a program that prints little, up to a time limit.
fn answer(command: &mut Command, patience: Duration) -> Option<Output> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let began = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if began.elapsed() > patience {
            // Not waited for, because the caller wants an answer now.
            let _ = child.kill();
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().ok()
}
