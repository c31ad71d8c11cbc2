//! Masked agents: the data directory is hidden from them, and everything else works as without a mask.

use std::path::Path;

use chorus::domain::{Handoff, Outcome, Task};
use chorus::runner::check_masks;
use reqwest::Method;
use serde_json::{Value, json};

use super::{client_of_run, expect_refusal};
use crate::support::{
    Events, Sandbox, Server, create_task, hand_off, last_handoff_id, run_agent, start_handoff,
    wait_for_end,
};

/// Whether masks work here. A test that needs them says on standard error that it was left out.
#[expect(
    clippy::print_stderr,
    reason = "a test that was left out must not look like one that passed"
)]
fn masks_work(test: &str) -> bool {
    let checked = check_masks();
    if let Err(problem) = &checked {
        eprintln!("LEFT OUT: {test}: {problem}");
    }
    checked.is_ok()
}

fn masked(script: &str) -> Value {
    json!({
        "provider": "command", "program": "/bin/sh", "arguments": ["-c", script], "isolation": "masked",
    })
}

async fn run_script(sandbox: Sandbox, script: &str) -> (Sandbox, Server, Handoff) {
    let sandbox = sandbox.with_configured_agent("masked", &masked(script));
    let server = sandbox.serve(4);
    let handoff = run_agent(&server.client(), "masked").await;
    (sandbox, server, handoff)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_masked_agent_sees_its_workspace_and_nothing_else_of_the_data_directory() {
    if !masks_work("a_masked_agent_sees_its_workspace_and_nothing_else_of_the_data_directory") {
        return;
    }
    let sandbox = Sandbox::new().with_agent("other", "echo private >secret; echo done");
    let script = r#"
        data=$(cd ../.. && pwd)
        echo "data: $(ls -A "$data" | tr '\n' ' ')"
        echo "workspaces: $(ls -A "$data/workspaces" | wc -l)"
        echo "own: $(ls -A)"
        echo "runs: $(ls -A "$data/runs" | wc -l), $(ls -A "$data"/runs/*)"
        for file in operator.token chorus.db chorus.db-wal chorus.lock chorus.sock; do
            test -e "$data/$file" && echo "SEEN: $file"
        done
        find "$data" -name secret -o -name prompt.txt -o -name spec.json | sed 's/^/SEEN: /'
        touch "$data/new" "$data/runs/new" "$data"/runs/*/new "$data"/runs/*/system.md && echo WRITTEN
        echo kept >result"#;
    let server = sandbox.serve(1);
    let other = run_agent(&server.client(), "other").await;
    assert_eq!(other.outcome, Some(Outcome::Completed), "{}", other.output);
    drop(server);
    let (sandbox, _server, handoff) = run_script(sandbox, script).await;
    assert_eq!(
        handoff.output.as_str(),
        "data: runs workspaces \nworkspaces: 1\nown: \nruns: 1, system.md"
    );
    let workspaces = std::fs::read_dir(sandbox.data_dir.join("workspaces")).unwrap();
    let kept = workspaces
        .flatten()
        .filter(|workspace| workspace.path().join("result").exists());
    assert_eq!(kept.count(), 1);
    sandbox.assert_invariants();
}

/// Each line tries one way out of the mask. `$DATA` is the data directory, `$OUTSIDE` a process of the same user.
const WAYS_OUT: &str = r#"
    secret=$DATA/operator.token
    umount "$DATA"; cat "$secret"
    umount -l "$DATA"; cat "$secret"
    mount -t tmpfs none "$DATA"; cat "$secret"
    unshare -Urm sh -c 'umount "$DATA"; umount -l "$DATA"; cat "$DATA/operator.token"'
    unshare -Urm sh -c 'mkdir /tmp/view.$$; mount --bind "$DATA/.." /tmp/view.$$; cat /tmp/view.$$/data/operator.token'
    unshare -Urm sh -c 'mount --rbind / /mnt; umount /mnt"$DATA"; cat /mnt"$DATA/operator.token"'
    for process in /proc/[0-9]*; do cat "$process/root$secret" "$process/cwd/operator.token"; done
    cat "/proc/$OUTSIDE/root$secret"
    nsenter -t "$OUTSIDE" -m cat "$secret"
    nsenter -t 1 -m cat "$secret"
    chroot "/proc/$OUTSIDE/root" cat "$secret"
    kill -0 "$OUTSIDE" && echo FOUND
    for file in /proc/self/fd/*; do cat "$file/../operator.token" "$file/operator.token"; done
    for file in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/kernel/uevent_helper; do test -w $file && echo WRITABLE; done
    mknod disk b 8 0 && echo DEVICE
    mv "$DATA" "$DATA.moved" && echo MOVED
    mv "$(dirname "$DATA")" "$(dirname "$DATA").moved" && echo MOVED
    rmdir "$DATA" && echo REMOVED
    mv "$PROGRAM" "$PROGRAM.moved" && echo MOVED
    cp /bin/true "$PROGRAM" && echo REPLACED
    mv "$(dirname "$PROGRAM")" "$(dirname "$PROGRAM").moved" && echo MOVED
    ln "$DATA/operator.token" link && cat link
    ln -s "$DATA" link; cat link/operator.token
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_masked_agent_finds_no_way_to_the_token() {
    if !masks_work("a_masked_agent_finds_no_way_to_the_token") {
        return;
    }
    let sandbox = Sandbox::new();
    let mut agent = masked(&format!("exec 2>&1\n{WAYS_OUT}\necho tried"));
    agent["environment"] = json!({
        "DATA": sandbox.data_dir.canonicalize().unwrap(),
        "OUTSIDE": std::process::id().to_string(),
        "PROGRAM": env!("CARGO_BIN_EXE_chorus"),
    });
    let sandbox = sandbox.with_configured_agent("thief", &agent);
    let server = sandbox.serve(1);
    let handoff = run_agent(&server.client(), "thief").await;
    let token = std::fs::read_to_string(sandbox.data_dir.join("operator.token")).unwrap();
    let output = handoff.output.as_str();
    assert!(output.ends_with("tried"), "{output}");
    for sign in [
        token.trim(),
        "FOUND",
        "WRITABLE",
        "DEVICE",
        "MOVED",
        "REMOVED",
        "REPLACED",
    ] {
        assert!(!output.contains(sign), "{sign}: {output}");
    }
    assert!(sandbox.data_dir.join("operator.token").exists());
    assert!(Path::new(env!("CARGO_BIN_EXE_chorus")).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_masked_agent_hands_off_and_gets_the_answer() {
    if !masks_work("a_masked_agent_hands_off_and_gets_the_answer") {
        return;
    }
    let sandbox = Sandbox::new().with_configured_agent(
        "helper",
        &masked("cat shared; if test -e ../../operator.token; then echo SEEN; fi; echo 42"),
    );
    let script =
        "echo for the helper >shared; chorus handoff \"$CHORUS_TASK_ID\" helper 'What is it?'";
    let (sandbox, _server, handoff) = run_script(sandbox, script).await;
    assert_eq!(handoff.output.as_str(), "for the helper\n42");
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_and_signals_of_masked_agents_are_their_own() {
    if !masks_work("exit_codes_and_signals_of_masked_agents_are_their_own") {
        return;
    }
    let sandbox = Sandbox::new()
        .with_configured_agent("code", &masked("exit 3"))
        .with_configured_agent("signal", &masked("kill -KILL $$"))
        .with_configured_agent(
            "missing",
            &json!({ "provider": "command", "program": "no-such-program", "isolation": "masked" }),
        );
    let server = sandbox.serve(1);
    let client = server.client();
    let end = |handoff: &Handoff| {
        let exit = std::fs::read_to_string(sandbox.run_dir(handoff).join("exit.json"));
        exit.unwrap().trim().to_owned()
    };
    let handoff = run_agent(&client, "code").await;
    assert_eq!(
        end(&handoff),
        r#"{"end":{"type":"exited","code":3},"cause":"byItself"}"#
    );
    let handoff = run_agent(&client, "signal").await;
    assert_eq!(
        end(&handoff),
        r#"{"end":{"type":"signalled","signal":9},"cause":"byItself"}"#
    );
    let handoff = run_agent(&client, "missing").await;
    assert_eq!(handoff.outcome, Some(Outcome::Failed));
    let output = handoff.output.as_str();
    assert!(
        output.starts_with("Program no-such-program is not installed"),
        "{output}"
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_masked_agent_gets_its_signal_and_leaves_no_process() {
    if !masks_work("a_stopped_masked_agent_gets_its_signal_and_leaves_no_process") {
        return;
    }
    let script = "trap 'echo goodbye; exit 0' TERM
        env -i setsid sleep 600 &
        (setsid sleep 600 &)
        echo begun
        while :; do sleep 0.05; done";
    let sandbox = Sandbox::new().with_configured_agent("polite", &masked(script));
    let server = sandbox.serve_with(1, &["--port", "0", "--grace-seconds", "60"]);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "polite").await;
    events.wait_for("message_added", "begun").await;
    let path = format!("/api/tasks/{}/handoff/cancel", task.id);
    let cancelled = client.send_json(Method::POST, &path, &json!({})).await;
    let cancelled: Task = cancelled.unwrap().data().unwrap();
    assert_eq!(cancelled.current_agent(), None);
    assert_eq!(sandbox.processes(), []);
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    let log = std::fs::read_to_string(sandbox.run_dir(&handoff).join("stdout.log")).unwrap();
    assert_eq!(log, "begun\ngoodbye\n");
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_supervisor_leaves_no_process_of_its_masked_agent() {
    if !masks_work("a_killed_supervisor_leaves_no_process_of_its_masked_agent") {
        return;
    }
    // The marked process has no variable of Chorus, and is not a descendant of the agent any more.
    let mark = format!("600.{}", std::process::id());
    let script = format!("(env -i setsid sleep {mark} &); echo begun; exec sleep 600");
    let sandbox = Sandbox::new().with_configured_agent("worker", &masked(&script));
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "worker").await;
    events.wait_for("message_added", "begun").await;
    let supervisors = sandbox.supervisors();
    assert_eq!(supervisors.len(), 1);
    assert!(sandbox.kill(supervisors[0]));
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Interrupted));
    sandbox.wait_until_no_process();
    wait_until_no_command(&format!("sleep\0{mark}\0"));
    sandbox.assert_invariants();
}

/// Waits until no process has this command line.
fn wait_until_no_command(line: &str) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    let is_there = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
            .any(|command| command == line.as_bytes())
    };
    while is_there() {
        assert!(std::time::Instant::now() < deadline, "{line} is left");
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_masked_run_cannot_choose_the_workspace_of_another_task() {
    if !masks_work("a_masked_run_cannot_choose_the_workspace_of_another_task") {
        return;
    }
    let script = "echo $CHORUS_HANDOFF_ID $CHORUS_TOKEN; exec sleep 600";
    let sandbox = Sandbox::new().with_configured_agent("worker", &masked(script));
    let server = sandbox.serve(2);
    let client = server.client();
    let other = create_task(&client).await;
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "worker").await;
    let run = client_of_run(&server, &mut events, &task).await;
    let create = async |path: &str, body: Value| {
        let created = run.send_json(Method::POST, path, &body).await;
        created.map(|reply| reply.data::<Value>().unwrap())
    };
    let request = |workspace: &str| json!({ "title": "t", "body": "b", "kind": "fix", "agentWorkspace": workspace });
    let others = other.agent_workspace.as_str();
    for (path, body) in [
        (
            "/api/tasks",
            json!({ "description": "d", "agentWorkspace": others }),
        ),
        (
            "/api/tasks",
            json!({ "description": "d", "agentWorkspace": "/tmp" }),
        ),
        (
            "/api/tasks",
            json!({ "description": "d", "dependsOn": [{ "taskId": other.id }] }),
        ),
        (
            "/api/increments",
            json!({ "title": "t", "agentWorkspace": others }),
        ),
        ("/api/requests", request(others)),
    ] {
        let (status, _, message) = expect_refusal(create(path, body.clone()).await);
        assert_eq!(status, 403, "{path} {body}: {message}");
    }
    let own = format!("{}/part", task.agent_workspace);
    let body = json!({ "description": "d", "agentWorkspace": own });
    assert_eq!(
        create("/api/tasks", body).await.unwrap()["agentWorkspace"],
        own.as_str()
    );
    let fresh = create("/api/tasks", json!({ "description": "d" }))
        .await
        .unwrap();
    assert!(
        fresh["agentWorkspace"]
            .as_str()
            .unwrap()
            .ends_with(fresh["id"].as_str().unwrap())
    );
    create("/api/requests", request(&own)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_in_a_workspace_does_not_lead_a_masked_agent_out() {
    if !masks_work("a_link_in_a_workspace_does_not_lead_a_masked_agent_out") {
        return;
    }
    let sandbox =
        Sandbox::new().with_configured_agent("worker", &masked("ls; cat operator.token secret"));
    let server = sandbox.serve(1);
    let client = server.client();
    let other = create_task(&client).await;
    std::fs::create_dir_all(other.agent_workspace.as_str()).unwrap();
    std::fs::write(format!("{}/secret", other.agent_workspace), "SECRET").unwrap();
    let parent = create_task(&client).await;
    let place = format!("{}/part", parent.agent_workspace);
    let body = json!({ "description": "d", "agentWorkspace": place });
    let child = client.send_json(Method::POST, "/api/tasks", &body).await;
    let child: Task = child.unwrap().data().unwrap();
    std::fs::create_dir_all(parent.agent_workspace.as_str()).unwrap();
    std::os::unix::fs::symlink(other.agent_workspace.as_str(), &place).unwrap();
    let body = json!({ "agentName": "worker", "prompt": "p" });
    let child = hand_off(&client, &child, &body).await.unwrap();
    let handoff = wait_for_end(&client, last_handoff_id(&child)).await;
    assert_eq!(handoff.outcome, Some(Outcome::Failed));
    let output = handoff.output.as_str();
    assert!(
        output.contains("leads into the workspace of another task"),
        "{output}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_bubblewrap_a_masked_run_fails_with_advice() {
    let sandbox = Sandbox::new().with_configured_agent("worker", &masked("echo done"));
    let server = sandbox.serve_without_programs(1);
    let handoff = run_agent(&server.client(), "worker").await;
    assert_eq!(handoff.outcome, Some(Outcome::Failed));
    assert_eq!(
        handoff.output.as_str(),
        "The agent is masked, and bubblewrap is not installed. Install the package `bubblewrap`, or set the agent's isolation to none"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_masked_agent_reads_the_files_of_its_task_and_no_others() {
    if !masks_work("a_masked_agent_reads_the_files_of_its_task_and_no_others") {
        return;
    }
    let script = r#"
        file=$(sed -n 's/^- \(.*\) (6 bytes)$/\1/p')
        cat "$file"; echo
        (echo changed >"$file") 2>/dev/null && echo WRITTEN
        find "$(dirname "$file")/../.." -type f | wc -l"#;
    let sandbox = Sandbox::new().with_configured_agent("masked", &masked(script));
    let server = sandbox.serve(1);
    let client = server.client();
    let (own, other) = (create_task(&client).await, create_task(&client).await);
    for task in [&own, &other] {
        let path = format!("/api/tasks/{}/attachments?filename=a.txt", task.id);
        let file = client.request(Method::POST, &path).body("secret");
        assert!(file.send().await.unwrap().status().is_success());
    }
    let body = json!({ "agentName": "masked", "prompt": "p" });
    let own = hand_off(&client, &own, &body).await.unwrap();
    let read = wait_for_end(&client, last_handoff_id(&own)).await;
    assert_eq!(read.output.as_str(), "secret\n1");
}
