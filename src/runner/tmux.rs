//! Windows of tmux that follow the logs of dispatched agents.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use crate::domain::{HandoffId, Kind, Timestamp};

/// The session that has the windows.
const SESSION: &str = "dispatch";

/// Opens a window in which a command follows a hand-off's log. Agents do not depend on it: what goes wrong is only logged.
pub fn follow(mut command: Vec<OsString>, kind: &Kind, handoff_id: &HandoffId, at: Timestamp) {
    let window = format!("agent-{kind}-{}", at.as_millis() / 1000);
    command.push(handoff_id.as_str().into());
    tokio::task::spawn_blocking(move || {
        let target = format!("{SESSION}:");
        let mut add = tmux(&["new-window", "-d", "-t", &target, "-n", &window, "--"]);
        let mut begin = tmux(&["new-session", "-d", "-s", SESSION, "-n", &window, "--"]);
        // Words of their own, so that no shell reads them. There may be no session yet, or somebody makes it at the same moment.
        let (add, begin) = (add.args(&command), begin.args(&command));
        if !succeeds(add) && !succeeds(begin) && !succeeds(add) {
            tracing::warn!(window, "cannot open a window of tmux");
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

/// Tells whether tmux is installed.
pub fn is_installed() -> bool {
    succeeds(&mut tmux(&["-V"]))
}
