//! The command line: the real program, with all that a user sees of it.

mod agents;
mod alert;
mod backup;
mod close;
mod completions;
mod doctor;
mod exit_codes;
mod fields;
mod handoff;
mod ids;
mod increment;
mod mail;
mod migrate;
mod missing;
mod patience;
mod ready;
mod reference;
mod report;
mod request;
mod route;
mod serve;
mod session;
mod stats;
mod stray_agents;
mod tag;
mod task;
mod task_needs;
mod template;
mod terminal;
mod tool;

use std::time::{Duration, Instant};

use chorus::client::Client;
use chorus::ledger::agent;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Chorus, OPERATOR_TOKEN, TestApp, redact};

/// A server with a clock that stands still, and the program to talk to it.
struct Desk {
    app: TestApp,
    url: String,
}

impl Desk {
    async fn open() -> Self {
        Self::at(TestApp::new().await).await
    }

    /// Opens a desk with these agents alone, each with its roles and skills.
    async fn with_agents(agents: &[(&str, &[&str], &[&str])]) -> Self {
        let agents = agents.iter().map(|(name, roles, skills)| {
            let agent = json!({
                "name": name, "specPath": "", "allowedTools": "", "permissionMode": "", "provider": "command",
                "program": "/bin/sh", "roles": roles, "skills": skills,
            });
            serde_json::from_value(agent).unwrap()
        });
        let app = TestApp::unseeded().await;
        let agents: Vec<_> = agents.collect();
        app.write(move |tx| agent::seed(tx, &agents)).await.unwrap();
        Self::at(app).await
    }

    async fn at(app: TestApp) -> Self {
        std::fs::write(app.data_dir.operator_token(), OPERATOR_TOKEN).unwrap();
        let url = app.listen().await;
        Self { app, url }
    }

    /// Runs a command that prints an id, and returns that.
    async fn make<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        let command = self.chorus(arguments);
        let output = tokio::task::spawn_blocking(move || command.output());
        let output = output.await.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    async fn task(&self, id: &str) -> Value {
        self.app.get(&format!("/api/tasks/{id}")).await.data()
    }

    /// Begins a command that talks to the server.
    fn chorus<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Chorus {
        Chorus::new(arguments)
            .env("CHORUS_URL", &self.url)
            .env("CHORUS_DATA_DIR", self.app.data_dir.path())
    }

    /// Runs a command and returns all that a user sees.
    async fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        transcript(self.chorus(arguments)).await.unwrap()
    }
}

/// Runs a command while the test goes on.
fn transcript(command: Chorus) -> JoinHandle<String> {
    tokio::task::spawn_blocking(move || redact(&command.transcript()))
}

/// Waits until a command waits for an answer of the server.
async fn until_asked(client: &Client) {
    let deadline = Instant::now() + Duration::from_mins(1);
    loop {
        let request = client.request(Method::GET, "/metrics");
        let metrics = request.send().await.unwrap().text().await.unwrap();
        if metrics.lines().any(|line| line == "chorus_waiters 1") {
            return;
        }
        assert!(Instant::now() < deadline, "nobody asks");
        tokio::task::yield_now().await;
    }
}
