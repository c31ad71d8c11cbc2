//! The command line: the real program, with all that a user sees of it.

mod agents;
mod alert;
mod backup;
mod completions;
mod doctor;
mod exit_codes;
mod handoff;
mod mail;
mod migrate;
mod request;
mod serve;
mod session;
mod stats;
mod tag;
mod task;
mod template;
mod tool;

use tokio::task::JoinHandle;

use crate::support::{Chorus, TestApp, settled};

/// A server with a clock that stands still, and the program to talk to it.
struct Desk {
    app: TestApp,
    url: String,
}

impl Desk {
    async fn open() -> Self {
        let app = TestApp::new().await;
        let url = app.listen().await;
        Self { app, url }
    }

    /// Begins a command that talks to the server.
    fn chorus<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Chorus {
        Chorus::new(arguments).env("CHORUS_URL", &self.url)
    }

    /// Runs a command and returns all that a user sees.
    async fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        transcript(self.chorus(arguments)).await.unwrap()
    }
}

/// Runs a command while the test goes on.
fn transcript(command: Chorus) -> JoinHandle<String> {
    tokio::task::spawn_blocking(move || settled(&command.transcript()))
}
