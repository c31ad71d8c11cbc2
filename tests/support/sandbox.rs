//! A data directory with scripted agents, and their processes.

use std::fs::File;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use chorus::client::{Client, ClientError};
use chorus::domain::{Handoff, Task};
use reqwest::Method;
use rusqlite::params;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::{Value, json};

use super::{Chorus, FailingDisk, Server, SmallDisk, invariants};

/// How long a test waits before it fails instead of hanging.
pub const TIMEOUT: Duration = Duration::from_mins(1);

/// The environment variable that runs every test with this isolation as the server's default, by hand.
const ISOLATION: &str = "CHORUS_TEST_ISOLATION";

/// A temporary folder with a data directory and scripted agents.
pub struct Sandbox {
    /// Before the folder, because it is dropped first.
    disk: Option<SmallDisk>,
    folder: tempfile::TempDir,
    pub data_dir: PathBuf,
}

impl Sandbox {
    /// Creates a data directory with an empty database.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::create(folder, None)
    }

    /// Creates a data directory on a small disk. Returns `None`, and says so, where nothing can be mounted.
    pub fn on_small_disk() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let data_dir = folder.path().join("data");
        std::fs::create_dir(&data_dir).unwrap();
        let disk = SmallDisk::mount(&data_dir)?;
        Some(Self::create(folder, Some(disk)))
    }

    pub const fn has_small_disk(&self) -> bool {
        self.disk.is_some()
    }

    pub fn fill_disk(&self) {
        self.disk.as_ref().unwrap().fill();
    }

    pub fn free_disk(&self) {
        self.disk.as_ref().unwrap().free();
    }

    fn create(folder: tempfile::TempDir, disk: Option<SmallDisk>) -> Self {
        let data_dir = folder.path().join("data");
        let migrated = Chorus::new(["migrate"])
            .env("CHORUS_DATA_DIR", &data_dir)
            .output();
        assert!(migrated.status.success());
        // Only the agents that a test adds exist: the server must not add the specialists.
        let seeded = invariants::open(&data_dir.join("chorus.db"))
            .execute("UPDATE installation SET specialists_planted_at = 0", []);
        assert_eq!(seeded.unwrap(), 1);
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        Self {
            disk,
            folder,
            data_dir,
        }
    }

    /// Returns a path beside the data directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Adds an agent that is a shell script.
    pub fn with_agent(self, name: &str, script: &str) -> Self {
        self.with_configured_agent(
            name,
            &json!({ "provider": "command", "program": "/bin/sh", "arguments": ["-c", script] }),
        )
    }

    /// Adds an agent that is a shell script and is never masked. Attacks on a supervisor and on a run directory need one: in a mask, an
    /// agent has neither.
    pub fn with_unmasked_agent(self, name: &str, script: &str) -> Self {
        self.with_configured_agent(
            name,
            &json!({ "provider": "command", "program": "/bin/sh", "arguments": ["-c", script], "isolation": "none" }),
        )
    }

    /// Whether agents are masked unless they say otherwise.
    pub fn is_masked() -> bool {
        std::env::var_os(ISOLATION).is_some_and(|isolation| isolation == "masked")
    }

    /// Adds an agent that is a shell script, with a role and skills.
    pub fn with_specialist(self, name: &str, role: &str, skills: &[&str], script: &str) -> Self {
        self.with_configured_agent(
            name,
            &json!({
                "provider": "command", "program": "/bin/sh", "arguments": ["-c", script], "roles": [role], "skills": skills,
            }),
        )
    }

    /// Adds an agent. Absent fields have their defaults; there is no spec.
    pub fn with_configured_agent(self, name: &str, configuration: &Value) -> Self {
        let text = |key: &str| configuration[key].as_str().map(str::to_owned);
        let mut environment = configuration["environment"].clone();
        // Marks every process of an agent.
        environment["SANDBOX"] = json!(self.data_dir);
        let list = |key: &str| match &configuration[key] {
            Value::Null => "[]".to_owned(),
            value => value.to_string(),
        };
        let spec = text("specPath").unwrap_or_default();
        let added = invariants::open(&self.data_dir.join("chorus.db")).execute(
            "INSERT INTO agents (name, spec_path, allowed_tools, permission_mode, provider, model, program, arguments,
                                 environment, output_form, max_seconds, idle_seconds, roles, skills, available,
                                 isolation, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, 0, 0)",
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
                text("isolation"),
            ],
        );
        assert_eq!(added.unwrap(), 1);
        self
    }

    /// Puts a shell script into a folder on the `PATH` of the server.
    pub fn with_program(self, name: &str, script: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    pub fn serve(&self, max_runs: u32) -> Server {
        self.serve_with(max_runs, &["--port", "0"])
    }

    /// Starts a server with more arguments. The grace period of stopped agents is one second.
    pub fn serve_with(&self, max_runs: u32, arguments: &[&str]) -> Server {
        let inherited = std::env::var_os("PATH").unwrap();
        let path = [self.path("bin")]
            .into_iter()
            .chain(std::env::split_paths(&inherited));
        self.serve_on_path(max_runs, arguments, path)
    }

    /// Starts a server with nothing on its `PATH` but the programs of [`Sandbox::with_program`].
    pub fn serve_without_programs(&self, max_runs: u32) -> Server {
        self.serve_on_path(max_runs, &["--port", "0"], [self.path("bin")])
    }

    /// Starts a server whose files, and those of its runs, are on a failing disk.
    pub fn serve_on_failing_disk(&self, max_runs: u32, disk: &FailingDisk) -> Server {
        let passed = [
            "--port",
            "0",
            "--pass-env",
            "LD_PRELOAD",
            "--pass-env",
            "FAILING",
        ];
        let mut command = self.command(
            max_runs,
            &passed,
            [PathBuf::from("/usr/bin"), PathBuf::from("/bin")],
        );
        for (name, value) in disk.environment() {
            command = command.env(name, value);
        }
        Server::spawn(&self.data_dir, command)
    }

    fn serve_on_path(
        &self,
        max_runs: u32,
        arguments: &[&str],
        path: impl IntoIterator<Item = PathBuf>,
    ) -> Server {
        Server::spawn(&self.data_dir, self.command(max_runs, arguments, path))
    }

    fn command(
        &self,
        max_runs: u32,
        arguments: &[&str],
        path: impl IntoIterator<Item = PathBuf>,
    ) -> Chorus {
        let max_runs = max_runs.to_string();
        let own = ["serve", "--max-runs", &max_runs, "--log", "warn"];
        let path = std::env::join_paths(path);
        let command = Chorus::new(own.into_iter().chain(arguments.iter().copied()))
            .env("PATH", path.unwrap())
            .env("CHORUS_GRACE_SECONDS", "1")
            .env("CHORUS_TEST_CLOCK", self.path("clock"))
            .current_dir(self.folder.path());
        match std::env::var_os(ISOLATION) {
            Some(isolation) => command.env("CHORUS_ISOLATION", isolation),
            None => command,
        }
    }

    /// Sets the clock of the servers and supervisors to this many milliseconds after the right time.
    pub fn set_clock(&self, millis: i64) {
        let new = self.path("clock.new");
        std::fs::write(&new, millis.to_string()).unwrap();
        std::fs::rename(new, self.path("clock")).unwrap();
    }

    /// Creates a named pipe at which agents wait with `read _ <PATH`.
    pub fn gate(&self, name: &str) -> Gate {
        let path = self.path(name);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        Gate::open(path)
    }

    /// Returns the command line of a process of an agent or a supervisor.
    fn command_line(&self, pid: i32) -> Option<String> {
        let mark = format!("SANDBOX={}", self.data_dir.display());
        let (line, environment) = command_line_and_environment(pid);
        let is_agent = environment.contains(&mark);
        let runs = self.data_dir.join("runs").display().to_string();
        (is_agent || (line.contains(" supervise ") && line.contains(&runs))).then_some(line)
    }

    /// Lists the processes of agents. Waits for supervisors without agents, which are about to end.
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

    /// Lists the pids and command lines of all agents and supervisors.
    pub fn all_processes(&self) -> Vec<(i32, String)> {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(|pid| Some((pid, self.command_line(pid)?)))
            .collect()
    }

    /// Sends SIGKILL to a process of an agent or a supervisor. Returns whether the process existed.
    pub fn kill(&self, pid: i32) -> bool {
        // A pidfd keeps referring to the same process, even if the pid is reused.
        let process = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty());
        process.is_ok_and(|process| {
            self.command_line(pid).is_some() && pidfd_send_signal(process, Signal::KILL).is_ok()
        })
    }

    /// Lists the pids of all supervisors.
    pub fn supervisors(&self) -> Vec<i32> {
        let is_supervisor = |line: &str| line.contains(" supervise ");
        self.all_processes()
            .into_iter()
            .filter(|(_, line)| is_supervisor(line))
            .map(|(pid, _)| pid)
            .collect()
    }

    /// Lists the first processes of agents, with their parents. In a mask, more processes are between them and the agents.
    pub fn agents(&self) -> Vec<(i32, i32)> {
        let all = self.all_processes().into_iter();
        let all = all.filter(|(_, line)| !line.contains(" supervise "));
        let all: Vec<_> = all
            .filter_map(|(pid, _)| Some((pid, parent_of(pid)?)))
            .collect();
        let is_first = |parent: i32| all.iter().all(|(pid, _)| *pid != parent);
        let first = all.iter().filter(|(_, parent)| is_first(*parent));
        first.copied().collect()
    }

    pub fn wait_until_no_process(&self) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "processes are left: {left:?}");
            std::thread::yield_now();
        }
    }

    pub fn assert_invariants(&self) {
        invariants::assert_hold(&self.data_dir.join("chorus.db"));
    }

    /// Reads one value from the database, as text.
    pub fn query(&self, query: &str) -> String {
        let connection = invariants::open(&self.data_dir.join("chorus.db"));
        let value = connection.query_row(query, [], |row| row.get::<_, rusqlite::types::Value>(0));
        match value.unwrap() {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        }
    }

    pub fn run_dir(&self, handoff: &Handoff) -> PathBuf {
        self.data_dir
            .join("runs")
            .join(handoff.run.as_ref().unwrap().id.as_str())
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // A failed test must not leave agents behind.
        for (pid, _) in self.processes() {
            self.kill(pid);
        }
    }
}

/// Reads the command line and the environment of a process. Both are empty while the process executes a new program, so the
/// function waits for that moment to pass.
fn command_line_and_environment(pid: i32) -> (String, Vec<String>) {
    let read = |file: &str| {
        let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let deadline = Instant::now() + TIMEOUT;
    let mut looked_bare = false;
    loop {
        // In this order: a new program may start after the command line was read, but then the environment is empty only once.
        let (line, environment) = (read("cmdline"), read("environ"));
        let is_settled = !line.is_empty() && (looked_bare || !environment.is_empty());
        // A zombie and a thread of the kernel have no program.
        let has_program = || std::fs::read_link(format!("/proc/{pid}/exe")).is_ok();
        if is_settled || !has_program() || Instant::now() > deadline {
            let environment = environment.split('\0').map(str::to_owned).collect();
            return (line.replace('\0', " "), environment);
        }
        looked_bare = !line.is_empty();
        std::thread::yield_now();
    }
}

/// Reads an environment variable of a process.
pub fn variable_of(pid: i32, name: &str) -> Option<String> {
    let (_, environment) = command_line_and_environment(pid);
    environment
        .iter()
        .find_map(|variable| variable.strip_prefix(name)?.strip_prefix('='))
        .map(str::to_owned)
}

pub fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// A named pipe at which agents wait until the test lets one through.
pub struct Gate {
    path: PathBuf,
    pipe: File,
}

impl Gate {
    fn open(path: PathBuf) -> Self {
        // Open for reading and writing, so that neither side blocks in `open`.
        let pipe = File::options().read(true).write(true).open(&path).unwrap();
        Self { path, pipe }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes an empty line. Of a longer line, two waiting shells would read a part each.
    pub fn let_one_through(&self) {
        (&self.pipe).write_all(b"\n").unwrap();
    }

    /// Waits until an agent has written a line.
    pub fn wait_for_line(&self) {
        let mut line = [0; 1];
        tokio::task::block_in_place(|| (&self.pipe).read_exact(&mut line).unwrap());
    }
}

/// Returns a free port that the system does not assign to others, for a server that restarts at the same address. A UDP socket
/// with the same number reserves the port among test processes until this one ends.
pub fn reserve_port() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    static RESERVED: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());
    loop {
        // The system assigns ports from 32768.
        let first = 10_000 + u16::try_from(std::process::id() % 200).unwrap() * 100;
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed) % 100;
        if let Ok(reservation) = UdpSocket::bind(("127.0.0.1", port))
            && std::net::TcpListener::bind(("127.0.0.1", port)).is_ok()
        {
            RESERVED.lock().unwrap().push(reservation);
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
    let seconds = TIMEOUT.as_secs().to_string();
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
pub async fn run_agent(client: &Client, agent: &str) -> Handoff {
    let task = start_handoff(client, agent).await;
    wait_for_end(client, last_handoff_id(&task)).await
}

pub fn last_handoff_id(task: &Task) -> String {
    task.agent_chain().last().unwrap().id.to_string()
}
