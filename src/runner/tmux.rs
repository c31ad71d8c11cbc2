//! Windows of tmux that follow the logs of dispatched agents.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::domain::{HandoffId, Kind, Timestamp};

/// The session that has the windows.
const SESSION: &str = "dispatch";

/// Opens a window that follows a hand-off's log. Agents do not depend on it: what goes wrong is only logged.
pub fn follow(program: &Path, url: &str, kind: &Kind, handoff_id: &HandoffId, at: Timestamp) {
    let window = format!("agent-{kind}-{}", at.as_millis() / 1000);
    let (program, url, handoff) = (
        program.to_owned(),
        url.to_owned(),
        handoff_id.as_str().to_owned(),
    );
    tokio::task::spawn_blocking(move || {
        let follow = |tmux: &mut Command| {
            // Words of their own, so that no shell reads them.
            tmux.arg("--")
                .arg(&program)
                .args(["log", "-f", &handoff, "--url", &url]);
        };
        let target = format!("{SESSION}:");
        let mut add = tmux(&["new-window", "-d", "-t", &target, "-n", &window]);
        follow(&mut add);
        if succeeds(&mut add) {
            return;
        }
        // There is no session yet.
        let mut begin = tmux(&["new-session", "-d", "-s", SESSION, "-n", &window]);
        follow(&mut begin);
        if !succeeds(&mut begin) && !succeeds(&mut add) {
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
