//! Opens tmux windows that follow the logs of dispatched agents.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use crate::domain::{HandoffId, Kind, Timestamp};

/// The tmux session of the windows.
const SESSION: &str = "dispatch";

/// Opens a tmux window in which a command follows a hand-off's log. Errors are only logged, because agents do not need the window.
pub fn follow(mut command: Vec<OsString>, kind: &Kind, handoff_id: &HandoffId, at: Timestamp) {
    let window = format!("agent-{kind}-{}", at.as_millis() / 1000);
    command.push(handoff_id.as_str().into());
    tokio::task::spawn_blocking(move || {
        let target = format!("{SESSION}:");
        let mut add = tmux(&["new-window", "-d", "-t", &target, "-n", &window, "--"]);
        let mut begin = tmux(&["new-session", "-d", "-s", SESSION, "-n", &window, "--"]);
        // The command is passed as separate arguments, so that no shell parses it. The session may not exist yet, or may be created
        // at the same moment.
        let (add, begin) = (add.args(&command), begin.args(&command));
        if !succeeds(add) && !succeeds(begin) && !succeeds(add) {
            tracing::warn!(
                window,
                "cannot open a tmux window; follow the hand-off with `chorus log`"
            );
        }
    });
}

fn tmux(arguments: &[&str]) -> Command {
    let mut tmux = Command::new("tmux");
    tmux.args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    tmux
}

fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

pub fn is_installed() -> bool {
    succeeds(&mut tmux(&["-V"]))
}
