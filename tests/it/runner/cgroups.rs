//! Where cgroups can be made, no process hides from the end of its run.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use chorus::domain::Outcome;
use serde_json::Value;

use super::enforcement::wait_until;
use crate::support::{
    Events, Sandbox, last_handoff_id, leave_out, run_agent, start_handoff, wait_for_end,
};

/// Returns the cgroup that the server made for its only run, or `None`, and says so, where none can be made.
fn cgroup_of_only_run(sandbox: &Sandbox) -> Option<PathBuf> {
    let runs = std::fs::read_dir(sandbox.data_dir.join("runs")).unwrap();
    let runs: Vec<PathBuf> = runs.map(|run| run.unwrap().path()).collect();
    let [run] = runs.as_slice() else {
        panic!("there are {} runs", runs.len());
    };
    let spec = std::fs::read(run.join("spec.json")).unwrap();
    let spec: Value = serde_json::from_slice(&spec).unwrap();
    match spec["cgroup"].as_str() {
        Some(cgroup) => Some(cgroup.into()),
        None => leave_out("no cgroup can be made", &spec["cgroup"]),
    }
}

/// An agent with a process that has no environment, no parent, a session of its own and the mark of another run, and that holds a lock.
fn with_hiding_agent(sandbox: Sandbox) -> (Sandbox, PathBuf) {
    let held = sandbox.path("held");
    let lock = held.display();
    let script = format!(
        "other=${{CHORUS_RUN%/*}}/01900000-0000-7000-8000-000000000000
         (env -i PATH=\"$PATH\" CHORUS_RUN=$other setsid flock {lock} sleep 600 &)
         while flock --nonblock {lock} true; do :; done
         echo begun; exec sleep 600"
    );
    (sandbox.with_agent("hiding", &script), held)
}

fn is_held(lock: &Path) -> bool {
    let lock = File::open(lock).unwrap();
    matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_hides_is_ended_with_its_killed_supervisor() {
    let (sandbox, held) = with_hiding_agent(Sandbox::new());
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "hiding").await;
    events.wait_for("message_added", "begun").await;
    let Some(cgroup) = cgroup_of_only_run(&sandbox) else {
        return;
    };
    assert!(is_held(&held));
    for pid in sandbox.supervisors() {
        assert!(sandbox.kill(pid));
    }
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
    assert!(!is_held(&held));
    wait_until("the cgroup is left", || !cgroup.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_hides_is_ended_by_the_next_server() {
    let (sandbox, held) = with_hiding_agent(Sandbox::new());
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "hiding").await;
    events.wait_for("message_added", "begun").await;
    let Some(cgroup) = cgroup_of_only_run(&sandbox) else {
        return;
    };
    server.kill();
    // Only the hidden process is left.
    for (pid, _) in sandbox.all_processes() {
        sandbox.kill(pid);
    }
    assert!(is_held(&held));
    let server = sandbox.serve(1);
    let handoff = wait_for_end(&server.client(), last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
    assert!(!is_held(&held));
    wait_until("the cgroup is left", || !cgroup.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_ends_leaves_no_cgroup() {
    let sandbox = Sandbox::new().with_agent("making", "cat /proc/self/cgroup");
    let server = sandbox.serve(1);
    let handoff = run_agent(&server.client(), "making").await;
    let Some(cgroup) = cgroup_of_only_run(&sandbox) else {
        return;
    };
    let name = cgroup.file_name().unwrap().to_str().unwrap();
    let output = handoff.output.as_str();
    assert!(output.contains(name), "{name} is not in {output}");
    assert!(!cgroup.exists());
}
