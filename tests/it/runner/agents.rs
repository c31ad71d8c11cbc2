//! Agents that are created, changed and limited while they run.

use chorus::client::ClientError;
use chorus::domain::{Agent, OWN_ENVIRONMENT, Outcome};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Events, Sandbox, last_handoff_id, run_agent, start_handoff, wait_for_end};

#[tokio::test(flavor = "multi_thread")]
async fn the_maximum_session_duration_limits_the_run() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve(1);
    let client = server.client();
    let mut agent = json!({ "provider": "command", "program": "true", "maxSeconds": 7200, "maxSessionDuration": 2 });
    for (max_seconds, limit) in [(7200, 120), (30, 30)] {
        agent["maxSeconds"] = json!(max_seconds);
        server
            .operator()
            .send_json(Method::PUT, "/api/agents/quick", &agent)
            .await
            .unwrap();
        let handoff = run_agent(&client, "quick").await;
        let spec = std::fs::read(sandbox.run_dir(&handoff).join("spec.json")).unwrap();
        let spec: Value = serde_json::from_slice(&spec).unwrap();
        assert_eq!(spec["maxSeconds"], limit);
        // Chorus sets exactly the variables that no agent may set.
        let mut names: Vec<_> = spec["environment"].as_object().unwrap().keys().collect();
        let mut own = OWN_ENVIRONMENT.to_vec();
        names.sort_unstable();
        own.sort_unstable();
        assert_eq!(names, own);
    }
    sandbox.wait_until_no_process();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_sets_its_capabilities_and_is_not_deleted_while_it_works() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!(
        "chorus agents capabilities --roles testing,fixing --skills go --max-session-duration 5 && echo said
         chorus agents capabilities qa --roles testing 2>&1
         chorus agents edit tester --max-seconds 9 2>&1
         read _ <{}",
        gate.path().display()
    );
    let server = sandbox.serve(1);
    let client = server.client();
    let add = [
        "agents",
        "add",
        "tester",
        "--provider",
        "command",
        "--program",
        "/bin/sh",
        "--arg",
        "-c",
        "--arg",
        &script,
    ];
    assert!(server.chorus(add).output().status.success());
    let mut events = Events::listen(&client).await;
    let task = start_handoff(&client, "tester").await;
    let changed = events.wait_for("agent_changed", "tester").await;
    assert_eq!(
        changed["data"]["changed"],
        "roles, skills, maxSessionDuration"
    );
    let operator = server.operator();
    let delete = || operator.send(operator.request(Method::DELETE, "/api/agents/tester"));
    let refused = delete().await;
    let Err(ClientError::Refused { status, error }) = refused else {
        panic!("a working agent was deleted");
    };
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(
        error.message.contains(task.id.as_str()),
        "{}",
        error.message
    );
    gate.let_one_through();
    let handoff = wait_for_end(&client, last_handoff_id(&task)).await;
    assert_eq!(
        handoff.output.as_str(),
        "tester changed\nsaid\nerror: A run of tester may change only its own agent, tester, not qa\n\
         error: A run of tester may not change the configuration of Chorus. Leave the change to the operator"
    );
    let deleted: Agent = delete().await.unwrap().data().unwrap();
    let roles: Vec<_> = deleted.roles.iter().map(ToString::to_string).collect();
    assert_eq!(roles, ["testing", "fixing"]);
    assert_eq!(handoff.outcome, Some(Outcome::Completed));
    sandbox.wait_until_no_process();
    sandbox.assert_invariants();
}
