//! Mail to the operator about tasks that no agent suits.

use chorus::client::Client;
use reqwest::Method;
use serde_json::{Value, json};

use super::{create_task, get, print_report, send, task_with_role};
use crate::support::{Events, Sandbox, Server};

async fn unread(client: &Client) -> Vec<Value> {
    let mail = get(client, "/api/mail?to=operator&unread=true").await;
    mail.as_array().unwrap().clone()
}

async fn count_mail(client: &Client) -> usize {
    let mail = get(client, "/api/mail?to=operator").await;
    mail.as_array().unwrap().len()
}

/// Runs the command that a mail names, as the operator.
fn run_command(sandbox: &Sandbox, server: &Server, line: &str) {
    let (_, command) = line.split_once(": chorus ").unwrap();
    let data_dir = sandbox.data_dir.to_str().unwrap();
    let arguments = command.split(' ').chain(["--data-dir", data_dir]);
    let output = server.chorus(arguments).output();
    assert!(output.status.success(), "{command}: {output:?}");
}

/// A round of the router that must find the unsuited task again.
async fn change_another_agent(server: &Server, skill: &str) {
    let change = json!({ "skills": [skill] });
    send(
        &server.operator(),
        Method::PATCH,
        "/api/agents/tess",
        &change,
    )
    .await;
}

#[tokio::test]
async fn the_operator_gets_one_mail_with_the_command_that_helps() {
    let sandbox = Sandbox::new()
        .with_specialist(
            "tess",
            "testing",
            &["rust"],
            &print_report("passed", "Good"),
        )
        .with_specialist("dev", "implementation", &[], &print_report("passed", "x"));
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let body = json!({ "description": "Test the parser\nwell", "agentRole": "testing", "specialistTags": ["python", "mcp"] });
    let task = create_task(&client, &body).await;
    events.wait_for("mail_sent", "No agent suits").await;
    let mail = unread(&client).await;
    assert_eq!(mail.len(), 1, "{mail:?}");
    let reason = "No available agent has the role testing and one of the skills python, mcp";
    assert_eq!(mail[0]["subject"], "No agent suits: Test the parser");
    assert_eq!(
        mail[0]["body"],
        format!(
            "{reason}. The task waits.\n\n\
             Let tess do it: chorus agent edit tess --skills rust,python\n\
             Or hand it off yourself: chorus handoff {task} AGENT \"Do the task.\"\n\
             See the task: chorus task show {task} --full\n\
             The router continues by itself as soon as an agent suits."
        )
    );
    assert_eq!(
        [
            &mail[0]["from"],
            &mail[0]["taskId"],
            &mail[0]["urgency"],
            &mail[0]["type"]
        ],
        [
            &json!("router"),
            &json!(task),
            &json!("high"),
            &json!("note")
        ]
    );
    assert_eq!(
        mail[0]["context"],
        json!({ "waitingReason": reason, "role": "testing", "requiredSkills": ["python", "mcp"] })
    );
    // Not again: another round, an edit of the task, a person who asks the router, a restart.
    change_another_agent(&server, "go").await;
    let path = format!("/api/tasks/{task}");
    send(
        &client,
        Method::PATCH,
        &path,
        &json!({ "estimatedDuration": 5 }),
    )
    .await;
    let routed = server.chorus(["task", "route", &task]).output();
    assert!(!routed.status.success());
    server.stop();
    let server = sandbox.serve(1);
    let client = server.client();
    let other = create_task(&client, &task_with_role("implementation", &[])).await;
    let mut events = Events::listen(&client).await;
    events
        .wait_for_on(&other, "status_changed", "completed")
        .await;
    assert_eq!(count_mail(&client).await, 1);
    // The command helps. The mail is done when an agent starts.
    let line = "Let tess do it: chorus agent edit tess --skills rust,python";
    run_command(&sandbox, &server, line);
    events
        .wait_for_on(&task, "status_changed", "completed")
        .await;
    assert_eq!(unread(&client).await, Vec::<Value>::new());
    assert_eq!(count_mail(&client).await, 1);
    sandbox.assert_invariants();
}

#[tokio::test]
async fn another_reason_is_another_mail_and_each_task_has_its_own() {
    let sandbox = Sandbox::new().with_agent("ada", &print_report("passed", "x"));
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let tags = task_with_role("research", &["web"]);
    let tasks = [
        create_task(&client, &tags).await,
        create_task(&client, &tags).await,
    ];
    for task in &tasks {
        events
            .wait_for_on(task, "mail_sent", "No agent suits")
            .await;
    }
    let path = format!("/api/tasks/{}", tasks[0]);
    send(
        &client,
        Method::PATCH,
        &path,
        &json!({ "specialistTags": [] }),
    )
    .await;
    events
        .wait_for_on(&tasks[0], "mail_sent", "No agent suits")
        .await;
    let mail = unread(&client).await;
    let commands: Vec<_> = mail
        .iter()
        .map(|mail| {
            let mut lines = mail["body"].as_str().unwrap().lines();
            let command = lines.find(|line| line.starts_with("Let ")).unwrap();
            (mail["taskId"].as_str().unwrap(), command.to_owned())
        })
        .collect();
    let with_skill = "Let ada do it: chorus agent edit ada --roles research --skills web";
    let without = "Let ada do it: chorus agent edit ada --roles research";
    assert_eq!(
        commands,
        [
            (tasks[0].as_str(), with_skill.to_owned()),
            (tasks[1].as_str(), with_skill.to_owned()),
            (tasks[0].as_str(), without.to_owned()),
        ]
    );
    // The larger remedy serves all; each task's mail is done when its agent starts.
    run_command(&sandbox, &server, with_skill);
    for task in &tasks {
        events
            .wait_for_on(task, "status_changed", "completed")
            .await;
    }
    assert_eq!(unread(&client).await, Vec::<Value>::new());
    // An agent that is not available any more: the next task says so.
    let rest = json!({ "available": false });
    send(&server.operator(), Method::PATCH, "/api/agents/ada", &rest).await;
    let next = create_task(&client, &task_with_role("research", &[])).await;
    events
        .wait_for_on(&next, "mail_sent", "No agent suits")
        .await;
    let mail = unread(&client).await;
    let line = "Let ada do it: chorus agent edit ada --available true";
    assert!(mail[0]["body"].as_str().unwrap().contains(line), "{mail:?}");
    // A task that a person ends needs no agent any more.
    let path = format!("/api/tasks/{next}/status");
    send(
        &client,
        Method::PUT,
        &path,
        &json!({ "status": "completed" }),
    )
    .await;
    assert_eq!(unread(&client).await, Vec::<Value>::new());
}
