//! `chorus request`.

mod life;
mod operator;
mod refusals;
mod waiting;

use chorus::client::Client;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::transcript;
use crate::support::{Chorus, Server};

/// A server that runs no agents, and the program to talk to it as the operator does.
struct Office {
    server: Server,
    _folder: TempDir,
}

impl Office {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            server: Server::start(folder.path()),
            _folder: folder,
        }
    }

    fn chorus<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Chorus {
        self.server.chorus(arguments)
    }

    /// Runs a command and returns all that a user sees; times are left out, as they are real.
    async fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> String {
        without_times(&transcript(self.chorus(arguments)).await.unwrap())
    }

    /// Leaves work behind and returns its id.
    async fn create(&self, title: &str) -> String {
        self.create_of_kind(title, "fix").await
    }

    async fn create_of_kind(&self, title: &str, kind: &str) -> String {
        let body = json!({ "title": title, "body": "", "kind": kind });
        let client = self.server.client();
        let made = client.send_json(Method::POST, "/api/requests", &body).await;
        let made: Value = made.unwrap().data().unwrap();
        made["id"].as_str().unwrap().to_owned()
    }

    async fn show(&self, id: &str) -> Value {
        show(&self.server.client(), id).await
    }
}

async fn show(client: &Client, id: &str) -> Value {
    let request = client.get(&format!("/api/requests/{id}"), &[]).await;
    request.unwrap().data().unwrap()
}

/// Replaces times that a person or a program reads.
fn without_times(text: &str) -> String {
    let is_shaped = |text: &str, shape: &str| {
        text.len() >= shape.len()
            && text
                .bytes()
                .zip(shape.bytes())
                .all(|(byte, shape)| match shape {
                    b'0' => byte.is_ascii_digit(),
                    other => byte == other,
                })
    };
    let (mut out, mut rest) = (String::new(), text);
    while let Some(character) = rest.chars().next() {
        let shapes = ["0000-00-00 00:00:00", "0000000000000"];
        if let Some(shape) = shapes.iter().find(|shape| is_shaped(rest, shape)) {
            out += "<time>";
            rest = &rest[shape.len()..];
        } else {
            out.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    out
}
