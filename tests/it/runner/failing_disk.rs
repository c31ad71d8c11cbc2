//! System calls on files fail with EIO or ENOMEM while agents work, and succeed again later.

use std::time::Instant;

use chorus::client::Client;
use chorus::domain::{Handoff, Outcome, Task};
use rustix::io::Errno;

use crate::support::{
    Events, FailingDisk, Gate, Sandbox, Server, TIMEOUT, last_handoff_id, start_handoff,
    wait_for_end,
};

const ERRORS: [Errno; 2] = [Errno::IO, Errno::NOMEM];

/// An agent at work that has printed `one` and prints `two` at the end.
struct AtWork {
    sandbox: Sandbox,
    disk: FailingDisk,
    gate: Gate,
    server: Server,
    task: Task,
}

impl AtWork {
    async fn begin() -> Self {
        let sandbox = Sandbox::new();
        let gate = sandbox.gate("gate");
        let script = format!("echo one; read _ <{}; echo two", gate.path().display());
        let sandbox = sandbox.with_agent("slow", &script);
        let disk = FailingDisk::new(sandbox.path("failing"));
        let server = sandbox.serve_on_failing_disk(2, &disk);
        let mut events = Events::listen(&server.client()).await;
        let task = start_handoff(&server.client(), "slow").await;
        events.wait_for("message_added", "one").await;
        Self {
            sandbox,
            disk,
            gate,
            server,
            task,
        }
    }

    async fn handoff(&self) -> Handoff {
        let path = format!("/api/handoffs/{}", last_handoff_id(&self.task));
        let handoff = self.server.client().get(&path, &[]).await;
        handoff.unwrap().data().unwrap()
    }

    /// Waits until the agent has ended. Its supervisor may still be there.
    async fn until_agent_ended(&self) {
        let give_up = Instant::now() + TIMEOUT;
        let is_agent = |(_, line): &(i32, String)| !line.contains(" supervise ");
        while self.sandbox.all_processes().iter().any(is_agent) {
            assert!(Instant::now() < give_up, "the agent does not end");
            tokio::task::yield_now().await;
        }
    }

    /// Repairs the disk. The hand-off must end as if nothing had happened.
    async fn end_well(self) {
        assert_eq!(self.handoff().await.outcome, None);
        self.disk.repair();
        let handoff = wait_for_end(&self.server.client(), last_handoff_id(&self.task)).await;
        let output = handoff.output.as_str();
        assert_eq!(
            (handoff.outcome, output),
            (Some(Outcome::Completed), "one\ntwo")
        );
        self.sandbox.wait_until_no_process();
        assert!(self.server.stop().success());
        let messages = "SELECT group_concat(content, '|') FROM (SELECT content FROM messages WHERE type = 'assistant_message' ORDER BY number)";
        assert_eq!(self.sandbox.query(messages), "one|two");
        self.sandbox.assert_invariants();
    }
}

/// Asks until the server is not ready, and returns the reason.
async fn until_not_ready(client: &Client) -> String {
    let give_up = Instant::now() + TIMEOUT;
    loop {
        let ready = client.get("/readyz", &[]).await;
        if let Err(error) = ready {
            return format!("{error:?}");
        }
        assert!(Instant::now() < give_up, "the server stays ready");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_the_database_cannot_take_is_recorded_later() {
    for error in ERRORS {
        let at_work = AtWork::begin().await;
        at_work.disk.fail(error, "w", "chorus.db");
        at_work.gate.let_one_through();
        at_work.sandbox.wait_until_no_process();
        let reason = until_not_ready(&at_work.server.client()).await;
        assert!(reason.contains("NOT_READY"), "{reason}");
        at_work.end_well().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_the_supervisor_cannot_write_is_written_later() {
    for error in ERRORS {
        let at_work = AtWork::begin().await;
        at_work.disk.fail(error, "ow", "/exit.");
        at_work.gate.let_one_through();
        at_work.until_agent_ended().await;
        assert_eq!(at_work.sandbox.supervisors().len(), 1);
        at_work.end_well().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_cannot_be_read_is_read_later() {
    for error in ERRORS {
        let at_work = AtWork::begin().await;
        at_work.disk.fail(error, "r", "/stdout.log");
        at_work.gate.let_one_through();
        at_work.sandbox.wait_until_no_process();
        at_work.end_well().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_cannot_be_read_is_read_later() {
    for error in ERRORS {
        let at_work = AtWork::begin().await;
        at_work.disk.fail(error, "r", "/exit.json");
        at_work.gate.let_one_through();
        at_work.sandbox.wait_until_no_process();
        at_work.end_well().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_files_cannot_be_written_waits_in_the_queue() {
    for (error, says) in [
        (Errno::IO, "Input/output error"),
        (Errno::NOMEM, "Cannot allocate memory"),
    ] {
        for (calls, part) in [("ow", "/spec.json"), ("ow", "/prompt.txt"), ("w", "/exit.")] {
            let sandbox = Sandbox::new().with_agent("quick", "echo done");
            let disk = FailingDisk::new(sandbox.path("failing"));
            let server = sandbox.serve_on_failing_disk(2, &disk);
            let client = server.client();
            let mut events = Events::listen(&client).await;
            disk.fail(error, calls, part);
            let task = start_handoff(&client, "quick").await;
            let requeued = events.wait_for("run_requeued", "quick").await;
            let reason = requeued["data"]["reason"].as_str().unwrap();
            assert!(reason.contains(says), "{part}: {reason}");
            disk.repair();
            let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
            let output = handoff.output.as_str();
            assert_eq!(
                (handoff.outcome, output),
                (Some(Outcome::Completed), "done"),
                "{part}"
            );
            sandbox.wait_until_no_process();
            assert!(server.stop().success());
            sandbox.assert_invariants();
        }
    }
}
