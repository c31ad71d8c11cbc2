//! A server on a copy of the data leaves the processes of the original alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use chorus::domain::{Outcome, Task};
use chorus::supervisor::supervised_directory;
use reqwest::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::{
    Chorus, Events, Gate, Sandbox, Server, last_handoff_id, leave_out, start_handoff, wait_for_end,
};

/// Adds an agent that prints a line, waits at a gate and prints another line.
fn gated_worker() -> (Sandbox, Gate) {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!(
        "echo begun; read _ <{}; echo finished",
        gate.path().display()
    );
    (sandbox.with_agent("worker", &script), gate)
}

fn copy_folder(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

fn serve(data_dir: &Path, max_runs: &str) -> Server {
    let arguments = [
        "serve",
        "--port",
        "0",
        "--log",
        "warn",
        "--max-runs",
        max_runs,
    ];
    Server::spawn(data_dir, Chorus::new(arguments))
}

/// Copies the whole data directory while no server runs.
fn by_folder(sandbox: &Sandbox) -> PathBuf {
    let copy = sandbox.path("copy");
    copy_folder(&sandbox.data_dir, &copy);
    copy
}

/// Restores a backup of the ledger in a new data directory.
fn by_backup(sandbox: &Sandbox) -> PathBuf {
    let copy = sandbox.path("restored");
    std::fs::create_dir(&copy).unwrap();
    let backup = Chorus::new(["backup"])
        .argument(copy.join("chorus.db"))
        .env("CHORUS_DATA_DIR", &sandbox.data_dir)
        .output();
    assert!(
        backup.status.success(),
        "{}",
        String::from_utf8_lossy(&backup.stderr)
    );
    copy
}

/// Exports the ledger, and imports it in a new data directory.
fn by_archive(sandbox: &Sandbox) -> PathBuf {
    let (archive, copy) = (sandbox.path("archive"), sandbox.path("imported"));
    for (verb, data_dir) in [("export", &sandbox.data_dir), ("import", &copy)] {
        let done = Chorus::new([verb])
            .argument(&archive)
            .env("CHORUS_DATA_DIR", data_dir)
            .transcript();
        assert!(done.starts_with("exit 0\n"), "{done}");
    }
    copy
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_an_imported_archive_leaves_the_agents_of_the_original_alone() {
    let (sandbox, gate) = gated_worker();
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "begun").await;
    server.kill();
    let copy = by_archive(&sandbox);
    let server = sandbox.serve(2);
    let before = sandbox.all_processes();
    for max_runs in ["2", "0"] {
        let other = serve(&copy, max_runs);
        let handoff = wait_for_end(&other.client(), last_handoff_id(&task)).await;
        assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
        assert_eq!(sandbox.all_processes(), before);
    }
    gate.let_one_through();
    let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
    assert_eq!(handoff.output.as_str(), "begun\nfinished");
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}

/// Another path of a data directory, until it is dropped.
enum Moved {
    Renamed { from: PathBuf, to: PathBuf },
    Mounted(PathBuf),
}

impl Moved {
    fn rename(sandbox: &Sandbox) -> Self {
        let (from, to) = (sandbox.data_dir.clone(), sandbox.path("renamed"));
        std::fs::rename(&from, &to).unwrap();
        Self::Renamed { from, to }
    }

    /// Returns `None`, and says so, where nothing can be mounted.
    fn mount(sandbox: &Sandbox) -> Option<Self> {
        let to = sandbox.path("mounted");
        std::fs::create_dir(&to).unwrap();
        let mounted = Command::new("mount")
            .arg("--bind")
            .args([&sandbox.data_dir, &to])
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self::Mounted(to)),
            other => leave_out("no directory can be mounted", &other),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Renamed { to, .. } | Self::Mounted(to) => to,
        }
    }
}

impl Drop for Moved {
    fn drop(&mut self) {
        match self {
            Self::Renamed { from, to } => std::fs::rename(to, from).unwrap(),
            Self::Mounted(to) => {
                let unmounted = Command::new("umount").arg("-l").arg(to).status();
                assert!(unmounted.unwrap().success());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_another_path_of_the_data_adopts_its_runs_and_ends_them() {
    let ways: [fn(&Sandbox) -> Option<Moved>; 2] =
        [|sandbox| Some(Moved::rename(sandbox)), Moved::mount];
    for moved in ways {
        for ends in [false, true] {
            let (sandbox, gate) = gated_worker();
            let server = sandbox.serve(1);
            let client = server.client();
            let mut events = Events::listen(&client).await;
            let task = start_handoff(&client, "worker").await;
            events.wait_for("message_added", "begun").await;
            server.kill();
            let Some(moved) = moved(&sandbox) else {
                return;
            };
            let server = serve(moved.path(), "1");
            let [supervisor] = sandbox.supervisors()[..] else {
                panic!("{:?}", sandbox.all_processes());
            };
            let runs = moved.path().join("runs");
            let found = supervised_directory(supervisor, &runs).unwrap();
            assert_eq!(found.unwrap().parent(), Some(runs.as_path()));
            if ends {
                assert!(sandbox.kill(supervisor));
            } else {
                gate.let_one_through();
            }
            let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
            let expected = if ends {
                Outcome::Interrupted
            } else {
                Outcome::Completed
            };
            assert_eq!(handoff.outcome, Some(expected), "{}", handoff.output);
            sandbox.wait_until_no_process();
            assert!(server.stop().success());
            drop(moved);
            sandbox.assert_invariants();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_on_a_copy_of_the_data_leaves_the_agents_of_the_original_alone() {
    for copy in [by_folder as fn(&Sandbox) -> PathBuf, by_backup] {
        let (sandbox, gate) = gated_worker();
        let server = sandbox.serve(2);
        let client = server.client();
        let mut events = Events::listen(&client).await;
        let task = start_handoff(&client, "worker").await;
        events.wait_for("message_added", "begun").await;
        server.kill();
        let copy = copy(&sandbox);
        let server = sandbox.serve(2);
        let before = sandbox.all_processes();
        for max_runs in ["2", "0"] {
            let other = serve(&copy, max_runs);
            let handoff = wait_for_end(&other.client(), last_handoff_id(&task)).await;
            assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
            assert!(
                handoff.output.as_str().contains("another data directory"),
                "{}",
                handoff.output
            );
            assert_eq!(sandbox.all_processes(), before);
        }
        gate.let_one_through();
        let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
        assert_eq!(
            (handoff.outcome, handoff.output.as_str()),
            (Some(Outcome::Completed), "begun\nfinished")
        );
        sandbox.wait_until_no_process();
        sandbox.assert_invariants();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_original_and_copy_have_both_started_ends_in_each_of_them_alone() {
    let (sandbox, gate) = gated_worker();
    let server = sandbox.serve(0);
    let task = start_handoff(&server.client(), "worker").await;
    server.kill();
    // The run is queued in both ledgers, so its processes have the same hand-off, task and run.
    let copy = by_folder(&sandbox);
    let (server, other) = (sandbox.serve(1), serve(&copy, "1"));
    for server in [&server, &other] {
        let mut events = Events::listen(&server.client()).await;
        events.wait_for("message_added", "begun").await;
    }
    // The copy ends the processes of its own killed supervisor, and nothing of the original.
    let [own] = sandbox.supervisors()[..] else {
        panic!("{:?}", sandbox.all_processes());
    };
    let agents = || sandbox.agents().into_iter();
    let (_, others) = agents().find(|(_, parent)| *parent != own).unwrap();
    kill_process(Pid::from_raw(others).unwrap(), Signal::KILL).unwrap();
    let handoff = wait_for_end(&other.client(), last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
    assert_eq!(
        agents().map(|(_, parent)| parent).collect::<Vec<_>>(),
        [own]
    );
    gate.let_one_through();
    let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
    assert_eq!(handoff.output.as_str(), "begun\nfinished");
    sandbox.wait_until_no_process();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agents_of_a_copied_restored_or_renamed_directory_work_in_it() {
    let sandbox = Sandbox::new().with_agent("where", "pwd -P");
    let server = sandbox.serve(1);
    let task = start_handoff(&server.client(), "where").await;
    let works_in = async |server: &Server, data_dir: &Path| {
        let client = server.client();
        let path = format!("/api/tasks/{}/handoff", task.id);
        let body = json!({ "agentName": "where", "prompt": "p" });
        let task: Task = client
            .send_json(Method::POST, &path, &body)
            .await
            .unwrap()
            .data()
            .unwrap();
        let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
        let expected = data_dir.canonicalize().unwrap().join("workspaces");
        assert_eq!(
            Path::new(handoff.output.as_str()).parent().unwrap(),
            expected,
            "{}",
            handoff.output
        );
    };
    wait_for_end(&server.client(), last_handoff_id(&task)).await;
    works_in(&server, &sandbox.data_dir).await;
    let restored = by_backup(&sandbox);
    assert!(server.stop().success());
    let copied = by_folder(&sandbox);
    let renamed = sandbox.path("renamed");
    std::fs::rename(&copied, &renamed).unwrap();
    for data_dir in [&restored, &renamed, &sandbox.data_dir] {
        works_in(&serve(data_dir, "1"), data_dir).await;
    }
    sandbox.wait_until_no_process();
}
