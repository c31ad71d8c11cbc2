//! Files of a run directory that the agent has replaced lead nowhere.

use std::path::Path;

use chorus::domain::{Handoff, Outcome};

use crate::support::{Events, Sandbox, Server, last_handoff_id, start_handoff, wait_for_end};

const SECRET: &str = "the operator's secret";

/// Runs an agent that replaces files of its run directory, `$own`, once the server reads its output.
async fn run_forger(sandbox: Sandbox, secret: &Path, forge: &str) -> (Sandbox, Server, Handoff) {
    let gate = sandbox.gate("gate");
    let script = format!(
        "own={}/${{CHORUS_RUN##*/}}; secret={}; echo begun; read _ <{}\n{forge}",
        sandbox.data_dir.join("runs").display(),
        secret.display(),
        gate.path().display()
    );
    let sandbox = sandbox.with_agent("forger", &script);
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "forger").await;
    events.wait_for("message_added", "begun").await;
    gate.let_one_through();
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    (sandbox, server, handoff)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_in_a_run_directory_is_neither_read_nor_written() {
    let sandbox = Sandbox::new();
    let secret = sandbox.path("secret");
    std::fs::write(&secret, SECRET).unwrap();
    let forge = "for file in exit.unfinished exit.json stderr.log stdout.log started.json; do
            ln -sf $secret $own/$file
        done
        exit 3";
    let (sandbox, server, handoff) = run_forger(sandbox, &secret, forge).await;
    assert_eq!(handoff.outcome, Some(Outcome::Failed));
    let output = handoff.output.as_str();
    assert!(
        output.contains("exit code 3") && !output.contains(SECRET),
        "{output}"
    );
    for stream in ["stdout", "stderr"] {
        let path = format!("/api/handoffs/{}/log", handoff.id);
        let log = server.client().request(reqwest::Method::GET, &path);
        let log = log.query(&[("stream", stream)]).send().await.unwrap();
        assert!(!log.text().await.unwrap().contains(SECRET), "{stream}");
    }
    sandbox.wait_until_no_process();
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), SECRET);
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_in_place_of_an_output_holds_up_nobody() {
    let forge =
        "for file in stdout.log stderr.log; do rm $own/$file; mkfifo $own/$file; done; echo done";
    let (sandbox, server, handoff) = run_forger(Sandbox::new(), Path::new("/"), forge).await;
    assert_eq!(
        (handoff.outcome, handoff.output.as_str()),
        (Some(Outcome::Completed), "begun\ndone")
    );
    sandbox.wait_until_no_process();
    assert!(server.stop().success());
}
