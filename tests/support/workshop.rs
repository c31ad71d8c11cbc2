//! Scripted agents that really run, and a look at their processes.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use chorus::client::{Client, ClientError};
use chorus::domain::{Handoff, Task};
use reqwest::Method;
use rusqlite::params;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::{Value, json};

use super::{Chorus, Server, invariants};

/// How long a test waits for something that must happen, before it fails instead of hanging.
const PATIENCE: Duration = Duration::from_mins(1);

/// A data directory with scripted agents.
pub struct Workshop {
    folder: tempfile::TempDir,
    pub data_dir: PathBuf,
}

impl Workshop {
    /// Makes a data directory with an empty database.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path().join("data");
        let migrated = Chorus::new(["migrate"])
            .env("CHORUS_DATA_DIR", &data_dir)
            .output();
        assert!(migrated.status.success());
        // Only those agents are there that a test adds.
        let seeded = invariants::open(&data_dir.join("chorus.db"))
            .execute("UPDATE installation SET specialists_planted_at = 0", []);
        assert_eq!(seeded.unwrap(), 1);
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        Self { folder, data_dir }
    }

    /// Returns a path beside the data directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Adds an agent that is a shell script.
    pub fn agent(self, name: &str, script: &str) -> Self {
        self.configured(
            name,
            &json!({ "provider": "command", "program": "/bin/sh", "arguments": ["-c", script] }),
        )
    }

    /// Adds an agent that is a shell script and plays a part.
    pub fn specialist(self, name: &str, role: &str, skills: &[&str], script: &str) -> Self {
        self.configured(
            name,
            &json!({
                "provider": "command", "program": "/bin/sh", "arguments": ["-c", script], "roles": [role], "skills": skills,
            }),
        )
    }

    /// Adds an agent. What is not said is as in a new installation, but without a spec.
    pub fn configured(self, name: &str, configuration: &Value) -> Self {
        let text = |key: &str| configuration[key].as_str().map(str::to_owned);
        let mut environment = configuration["environment"].clone();
        // Every process below an agent can be told by this.
        environment["WORKSHOP"] = json!(self.data_dir);
        let list = |key: &str| match &configuration[key] {
            Value::Null => "[]".to_owned(),
            given => given.to_string(),
        };
        let spec = text("specPath").unwrap_or_default();
        let added = invariants::open(&self.data_dir.join("chorus.db")).execute(
            "INSERT INTO agents (name, spec_path, allowed_tools, permission_mode, provider, model, program, arguments,
                                 environment, output_form, max_seconds, idle_seconds, roles, skills, available,
                                 created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 0, 0)",
            params![
                name,
                spec,
                text("allowedTools").unwrap_or_default(),
                text("permissionMode").unwrap_or_default(),
                text("provider").unwrap(),
                text("model"),
                text("program"),
                list("arguments"),
                environment.to_string(),
                text("outputForm").unwrap_or_else(|| "all".to_owned()),
                configuration["maxSeconds"].as_i64(),
                configuration["idleSeconds"].as_i64(),
                list("roles"),
                list("skills"),
                configuration["available"].as_bool().unwrap_or(true),
            ],
        );
        assert_eq!(added.unwrap(), 1);
        self
    }

    /// Puts a shell script on the path of the server, as a program with this name.
    pub fn program(self, name: &str, script: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// Starts a server that runs so many agents at once.
    pub fn serve(&self, max_runs: u32) -> Server {
        self.serve_with(max_runs, &["--port", "0"])
    }

    /// Starts a server with more arguments. Agents that are stopped have a second to go.
    pub fn serve_with(&self, max_runs: u32, arguments: &[&str]) -> Server {
        let max_runs = max_runs.to_string();
        let own = ["serve", "--max-runs", &max_runs, "--log", "warn"];
        let path = std::env::join_paths(
            [self.path("bin")]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let command = Chorus::new(own.into_iter().chain(arguments.iter().copied()))
            .env("PATH", path.unwrap())
            .env("CHORUS_GRACE_SECONDS", "1")
            .current_dir(self.folder.path());
        Server::spawn(&self.data_dir, command)
    }

    /// Makes a pipe at which agents wait: `read _ <NAME` in a script.
    pub fn gate(&self, name: &str) -> Gate {
        let path = self.path(name);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        Gate::open(path)
    }

    /// Returns the command line of a process, if it belongs to an agent or is a supervisor.
    fn command_line(&self, pid: i32) -> Option<String> {
        let read = |file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let mark = format!("WORKSHOP={}", self.data_dir.display());
        let is_agent = read("environ")
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark.as_bytes());
        let runs = self.data_dir.join("runs").display().to_string();
        let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        (is_agent || (line.contains(" supervise ") && line.contains(&runs))).then_some(line)
    }

    /// Lists the processes of agents. A supervisor alone, which flushes its files when all is over, is waited for.
    pub fn processes(&self) -> Vec<(i32, String)> {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let found = self.all_processes();
            let only_supervisors = found.iter().all(|(_, line)| line.contains(" supervise "));
            if found.is_empty() || !only_supervisors || Instant::now() > deadline {
                return found;
            }
            std::thread::yield_now();
        }
    }

    /// Lists the processes of agents and supervisors that live: pid and command line.
    pub fn all_processes(&self) -> Vec<(i32, String)> {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(|pid| Some((pid, self.command_line(pid)?)))
            .collect()
    }

    /// Kills a process of an agent, or a supervisor, with SIGKILL. Returns whether it was there.
    pub fn kill(&self, pid: i32) -> bool {
        // What is looked at through a descriptor cannot become another process before it is killed.
        let process = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty());
        process.is_ok_and(|process| {
            self.command_line(pid).is_some() && pidfd_send_signal(process, Signal::KILL).is_ok()
        })
    }

    /// Lists the supervisors that live.
    pub fn supervisors(&self) -> Vec<i32> {
        let is_supervisor = |line: &str| line.contains(" supervise ");
        self.all_processes()
            .into_iter()
            .filter(|(_, line)| is_supervisor(line))
            .map(|(pid, _)| pid)
            .collect()
    }

    /// Waits until no process of agents and supervisors is left.
    pub fn until_quiet(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "still there: {left:?}");
            std::thread::yield_now();
        }
    }

    pub fn assert_invariants(&self) {
        invariants::assert_hold(&self.data_dir.join("chorus.db"));
    }

    /// Reads one text from the database.
    pub fn read(&self, query: &str) -> String {
        let connection = invariants::open(&self.data_dir.join("chorus.db"));
        let value = connection.query_row(query, [], |row| row.get::<_, rusqlite::types::Value>(0));
        match value.unwrap() {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        }
    }

    /// Returns the directory of a hand-off's run.
    pub fn run_dir(&self, handoff: &Handoff) -> PathBuf {
        self.data_dir
            .join("runs")
            .join(handoff.run.as_ref().unwrap().id.as_str())
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // A test that failed must not leave its agents behind.
        for (pid, _) in self.processes() {
            self.kill(pid);
        }
    }
}

/// A pipe at which agents wait until the test lets them go on.
pub struct Gate {
    path: PathBuf,
    pipe: File,
}

impl Gate {
    fn open(path: PathBuf) -> Self {
        // Open for both, so that neither side waits for the other to come.
        let pipe = File::options().read(true).write(true).open(&path).unwrap();
        Self { path, pipe }
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets one agent go on.
    pub fn let_one_through(&self) {
        (&self.pipe).write_all(b"go\n").unwrap();
    }
}

/// Returns a free port that the system gives to nobody else, for a server that comes back at the same place.
pub fn own_port() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        // Ports for everybody begin at 32768.
        let first = 10_000 + u16::try_from(std::process::id() % 200).unwrap() * 100;
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed) % 100;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port.to_string();
        }
    }
}

pub async fn create_task(client: &Client) -> Task {
    let body = json!({ "description": "a task" });
    let task = client.send_json(Method::POST, "/api/tasks", &body).await;
    task.unwrap().data().unwrap()
}

/// Hands a task to an agent. Returns the task, or its child if a run delegates.
pub async fn hand_off(client: &Client, task: &Task, body: &Value) -> Result<Task, ClientError> {
    let path = format!("/api/tasks/{}/handoff", task.id);
    let task = client.send_json(Method::POST, &path, body).await?;
    task.data()
}

pub async fn wait_for_end(client: &Client, handoff_id: impl std::fmt::Display) -> Handoff {
    let path = format!("/api/handoffs/{handoff_id}");
    let seconds = PATIENCE.as_secs().to_string();
    let handoff = client.get(&path, &[("wait", seconds)]).await.unwrap();
    let handoff: Handoff = handoff.data().unwrap();
    assert!(
        handoff.outcome.is_some(),
        "{handoff_id} did not end in time"
    );
    handoff
}

/// Creates a task and hands it to an agent.
pub async fn start_handoff(client: &Client, agent: &str) -> Task {
    let body = json!({ "agentName": agent, "prompt": "do it" });
    hand_off(client, &create_task(client).await, &body)
        .await
        .unwrap()
}

/// Creates a task, hands it to an agent and waits for the end.
pub async fn run(client: &Client, agent: &str) -> Handoff {
    let task = start_handoff(client, agent).await;
    wait_for_end(client, last_handoff_id(&task)).await
}

pub fn last_handoff_id(task: &Task) -> String {
    task.agent_chain().last().unwrap().id.to_string()
}

/// The stream of all events, read as they arrive.
pub struct Events {
    response: reqwest::Response,
    buffer: Vec<u8>,
}

impl Events {
    /// Starts with the first event of the ledger.
    pub async fn listen(client: &Client) -> Self {
        let request = client.request(Method::GET, "/api/events");
        let response = request.query(&[("after", 0)]).send().await.unwrap();
        Self {
            response,
            buffer: Vec::new(),
        }
    }

    /// Waits for the next event. `None` means that the server is gone.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                let block = String::from_utf8(block).unwrap();
                let data = block.lines().find_map(|line| line.strip_prefix("data: "));
                if let Some(data) = data {
                    return Some(serde_json::from_str(data).unwrap());
                }
                continue;
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk()).await;
            let chunk = chunk.expect("no event arrived in time").ok()??;
            self.buffer.extend_from_slice(&chunk);
        }
    }

    /// Waits for an event of a type whose data contain a text.
    pub async fn wait_for(&mut self, event_type: &str, text: &str) -> Value {
        let matches = |event: &Value| event["data"].to_string().contains(text);
        self.wait_for_match(event_type, text, matches).await
    }

    /// Waits for an event of a task.
    pub async fn wait_for_on(&mut self, task: &str, event_type: &str, text: &str) -> Value {
        let matches =
            |event: &Value| event["taskId"] == task && event["data"].to_string().contains(text);
        self.wait_for_match(event_type, text, matches).await
    }

    async fn wait_for_match(
        &mut self,
        event_type: &str,
        text: &str,
        matches: impl Fn(&Value) -> bool,
    ) -> Value {
        let found = async {
            loop {
                let event = self.next().await.expect("the server is gone");
                if event["eventType"] == event_type && matches(&event) {
                    return event;
                }
            }
        };
        // The stream has keep-alive comments, so the timeout of a chunk is not enough.
        let found = tokio::time::timeout(PATIENCE, found).await;
        found.unwrap_or_else(|_| panic!("no event {event_type} with {text:?} arrived in time"))
    }
}
