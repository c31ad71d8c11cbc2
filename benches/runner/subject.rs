//! A server whose agent is this program.

use std::path::Path;

use rusqlite::{Connection as Database, params};
use serde_json::Value;

use super::agent::{self, Stamps};
use super::support::fill;
use super::support::http::{Connection, Doors};
use super::support::server::{DataDir, Server};

/// The time limit of a run, so that none outlives an aborted benchmark.
const MAX_SECONDS: u32 = 300;

const INSERT_AGENT: &str = "INSERT INTO agents (name, spec_path, allowed_tools, permission_mode, provider, created_at, updated_at, program, arguments, max_seconds)
     VALUES ('developer', '', '', '', 'command', $1, $1, $2, json_array($3, $4), $5)";

pub struct Subject {
    database: Database,
    pub server: Server,
    pub data_dir: DataDir,
}

impl Subject {
    /// Starts a server with `max_runs` slots, whose agent works for `milliseconds`.
    pub fn start(program: &Path, milliseconds: u64, max_runs: usize) -> Self {
        let data_dir = DataDir::create_with(program);
        let database = fill::open(&data_dir.database());
        database
            .execute(
                INSERT_AGENT,
                params![
                    fill::now(),
                    agent::program().to_str().expect("Cargo chose the name"),
                    agent::MODE,
                    milliseconds.to_string(),
                    MAX_SECONDS
                ],
            )
            .expect("the row fits the schema");
        let server = Server::start(&data_dir, &["--max-runs", &max_runs.to_string()]);
        Self {
            database,
            server,
            data_dir,
        }
    }

    pub async fn connect(&self) -> Connection {
        Connection::open(self.server.address).await
    }

    /// Adds tasks whose workspace is the data directory.
    pub fn add_tasks(&self, count: usize) -> Vec<Doors> {
        self.doors_of(&fill::add_tasks(&self.database, count))
    }

    /// Adds tasks with a chain of `length` completed hand-offs each.
    pub fn add_chains(&self, count: usize, length: i64) -> Vec<Doors> {
        self.doors_of(&fill::add_chains(&self.database, count, length))
    }

    fn doors_of(&self, tasks: &[String]) -> Vec<Doors> {
        let workspace = self.data_dir.path().to_str().expect("Cargo chose the name");
        self.database
            .execute(
                "UPDATE tasks SET agent_workspace = $1 WHERE agent_workspace <> $1",
                params![workspace],
            )
            .expect("the row fits the schema");
        tasks.iter().map(|task| Doors::of(task)).collect()
    }
}

/// Hands a task off and waits for the end of the hand-off.
pub async fn hand_off_and_wait(connection: &mut Connection, doors: &Doors) -> Stamps {
    let task = data(&connection.start(doors).await);
    let id = task["agentChain"]
        .as_array()
        .and_then(|chain| chain.last()?["id"].as_str())
        .expect("it is started");
    let path = format!("/api/handoffs/{id}?wait=60");
    let handoff = data(&connection.text(&path).await);
    assert_eq!(handoff["outcome"], "completed", "{handoff}");
    Stamps::read(handoff["output"].as_str().expect("it has ended"))
}

fn data(answer: &str) -> Value {
    let mut answer: Value = serde_json::from_str(answer).expect("an answer is JSON");
    answer["data"].take()
}
