//! Ids that are shortened to a unique beginning or end.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use chorus::domain::{Conversation, History, Queue, TaskArchive};
use chorus::ledger::Tx;
use chorus::ledger::archive::{self, Import};
use insta::assert_snapshot;
use serde_json::json;

use super::{Desk, transcript};
use crate::support::Chorus;

/// Returns the shortest prefix, of at least four characters, that tells an id from the others.
fn shorten<'a>(id: &'a str, others: &[&str]) -> &'a str {
    let is_unique = |length: &usize| {
        others
            .iter()
            .all(|other| *other == id || !other.starts_with(&id[..*length]))
    };
    let length = (4..=id.len()).find(is_unique).unwrap();
    &id[..length]
}

#[tokio::test]
async fn a_unique_prefix_stands_for_an_id_of_every_noun() {
    let desk = Desk::open().await;
    let task = desk.make(["task", "create", "Write the parser"]).await;
    let handoff = desk
        .make(["handoff", &task, "qa", "Look at it", "--no-wait"])
        .await;
    let request = desk
        .make(["request", "create", "Faster", "--kind", "fix"])
        .await;
    let increment = desk.make(["increment", "create", "Read dates"]).await;
    let alert = desk.make(["alert", "create", "The key expires"]).await;
    let mail = desk
        .app
        .operator()
        .post(
            "/api/mail",
            json!({ "to": ["qa"], "subject": "Hello", "body": "You" }),
        )
        .await;
    let mail = mail.data()["id"].as_str().unwrap().to_owned();
    let all = desk.app.get("/api/tasks").await.data();
    let tasks: Vec<_> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["id"].as_str().unwrap())
        .collect();

    let short = shorten(&task, &tasks);
    assert!(short.len() < task.len());
    let shown = desk.run(["task", "show", short, "--json"]).await;
    assert_eq!(shown, desk.run(["task", "show", &task, "--json"]).await);
    let upper = short.to_uppercase();
    assert_eq!(shown, desk.run(["task", "show", &upper, "--json"]).await);

    let mut handoffs_and_tasks = tasks.clone();
    handoffs_and_tasks.push(&handoff);
    for (command, id, others) in [
        (vec!["request", "show"], &request, vec![]),
        (vec!["increment", "show"], &increment, vec![]),
        (vec!["mail", "show"], &mail, vec![]),
        (vec!["mail", "thread"], &mail, vec![]),
        (vec!["task", "list", "--after"], &task, tasks.clone()),
        (vec!["mail", "inbox", "qa", "--after"], &mail, vec![]),
        (vec!["task", "tree"], &task, tasks.clone()),
        (vec!["log"], &handoff, handoffs_and_tasks),
    ] {
        let with = |id| desk.run(command.iter().copied().chain([id]));
        assert_eq!(
            with(shorten(id, &others)).await,
            with(id).await,
            "{command:?}"
        );
    }
    assert_eq!(
        desk.run(["alert", "resolve", &alert[..13]]).await,
        "exit 0\n--- stdout\n<id 1> resolved\n--- stderr\n"
    );
    let after = desk
        .make([
            "task",
            "create",
            "Test it",
            "--depends-on",
            &format!("{short}:failed"),
        ])
        .await;
    let depends_on = &desk.task(&after).await["dependsOn"];
    assert_eq!(
        *depends_on,
        json!([{ "taskId": task, "outcome": "failed" }])
    );
    let next = desk
        .make([
            "increment",
            "create",
            "Write dates",
            "--depends-on",
            &increment[..8],
        ])
        .await;
    let next = desk
        .app
        .get(&format!("/api/increments/{next}"))
        .await
        .data();
    assert_eq!(next["dependsOn"], json!([increment]));
}

/// The end of an id is random, so that few characters tell it from all others.
#[tokio::test]
async fn a_unique_end_stands_for_an_id() {
    let desk = Desk::open().await;
    for number in 1..=3 {
        import(&desk, &format!("0198f3c0-{number}-beef-{number}"), "Old").await;
    }
    let shown = desk.run(["task", "show", "beef-2", "--json"]).await;
    assert!(shown.contains("0198f3c0-2-beef-2"), "{shown}");
    assert_eq!(desk.run(["task", "show", "BEEF-2", "--json"]).await, shown);
    import(&desk, "0198f3c0-4-beef-2", "Also old").await;
    assert_snapshot!(desk.run(["task", "show", "beef-2"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: 2 ids begin or end with beef-2: use more characters
      task 0198f3c0-4-beef-2  Also old
      task 0198f3c0-2-beef-2  Old
    ");
    // A beginning wins over an end.
    import(&desk, "beef-2-and-more", "New").await;
    let shown = desk.run(["task", "show", "beef-2", "--json"]).await;
    assert!(shown.contains("beef-2-and-more"), "{shown}");
}

#[tokio::test]
async fn a_prefix_that_is_too_short_unknown_or_ambiguous_is_refused() {
    let desk = Desk::open().await;
    for number in 1..=12 {
        let description = format!("Task {number}\nwith details");
        import(&desk, &format!("beef-{number:02}"), &description).await;
    }
    assert_snapshot!(desk.run(["task", "show", "bee"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: bee is too short for an id: use at least 4 characters
    ");
    assert_snapshot!(desk.run(["task", "show", " "]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: The id is empty: use at least 4 characters
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["task", "show", "dead-beef"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: dead-beef
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["task", "show", "beef"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: More than 10 ids begin or end with beef: use more characters
      task beef-12  Task 12 with details
      task beef-11  Task 11 with details
      task beef-10  Task 10 with details
      task beef-09  Task 9 with details
      task beef-08  Task 8 with details
      task beef-07  Task 7 with details
      task beef-06  Task 6 with details
      task beef-05  Task 5 with details
      task beef-04  Task 4 with details
      task beef-03  Task 3 with details
    ");
    assert_snapshot!(desk.run(["cancel", "BEEF-1"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: 3 ids begin or end with BEEF-1: use more characters
      task beef-12  Task 12 with details
      task beef-11  Task 11 with details
      task beef-10  Task 10 with details
    ");
    assert_snapshot!(desk.run(["task", "show", "be'; --"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: be'; --
    hint: `chorus task list` lists the tasks
    ");
    assert_snapshot!(desk.run(["task", "show", "beef%"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: beef%
    hint: `chorus task list` lists the tasks
    ");
}

#[tokio::test]
async fn a_full_id_in_upper_case_or_with_blanks_around_it_is_found() {
    let desk = Desk::open().await;
    let task = desk.make(["task", "create", "Write the parser"]).await;
    let shown = desk.run(["task", "show", &task, "--json"]).await;
    assert!(shown.starts_with("exit 0\n"), "{shown}");
    let upper = task.to_uppercase();
    for typed in [
        upper.clone(),
        format!(" {task}\n"),
        format!("{upper}\t"),
        format!("{} ", &task[..13]),
    ] {
        assert_eq!(
            desk.run(["task", "show", &typed, "--json"]).await,
            shown,
            "{typed:?}"
        );
    }
    let after = desk
        .make([
            "task",
            "create",
            "Test it",
            "--depends-on",
            &format!(" {upper} "),
        ])
        .await;
    let depends_on = &desk.task(&after).await["dependsOn"];
    assert_eq!(depends_on[0]["taskId"], task);
}

#[tokio::test]
async fn an_imported_id_in_upper_case_is_found() {
    let desk = Desk::open().await;
    let id = "0198F3C0-AAAA-7000-8000-000000000000";
    import(&desk, id, "I am old").await;
    let shown = desk.run(["task", "show", id]).await;
    assert!(shown.contains("I am old\n"), "{shown}");
}

/// An imported id may have any form.
#[tokio::test]
async fn an_exact_id_is_never_taken_for_a_prefix() {
    let desk = Desk::open().await;
    for id in ["t1", "t12", "t123", "t1234"] {
        import(&desk, id, &format!("I am {id}")).await;
    }
    for id in ["t1", "t12", "t123", "t1234"] {
        let shown = desk.run(["task", "show", id]).await;
        assert!(shown.contains(&format!("I am {id}\n")), "{shown}");
    }
}

#[tokio::test]
async fn a_name_of_a_thread_is_not_taken_for_an_id() {
    let desk = Desk::open().await;
    let mail = json!({ "to": ["qa"], "subject": "Hello", "body": "You", "threadId": "go" });
    desk.app.operator().post("/api/mail", mail).await.data();
    let shown = desk.run(["mail", "thread", "go"]).await;
    assert!(shown.contains("Hello"), "{shown}");
}

#[tokio::test]
async fn a_full_id_costs_no_question() {
    let task = "0198f3c0-aaaa-7000-8000-000000000000";
    assert_eq!(
        asked(task).await,
        [format!("GET /api/tasks/{task} HTTP/1.1")]
    );
    let questions = [
        "GET /api/ids?noun=task&part=0198f3&limit=11 HTTP/1.1",
        "GET /api/tasks/0198f3 HTTP/1.1",
    ];
    assert_eq!(asked("0198f3").await, questions);
}

/// Returns the questions of `chorus task show` to a server that finds nothing.
async fn asked(id: &str) -> Vec<String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let command = Chorus::new(["task", "show", id, "--url", &url]);
    let shown = transcript(command);
    let asked = tokio::task::spawn_blocking(move || {
        let mut asked = Vec::new();
        loop {
            let (mut connection, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
            asked.push(lines.next().unwrap().unwrap());
            lines
                .take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty()))
                .count();
            let body = r#"{"error":{"code":"NOT_FOUND","message":"Nothing"}}"#;
            let length = body.len();
            write!(connection, "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
            if asked
                .last()
                .is_some_and(|line| line.contains("/api/tasks/"))
            {
                // The questions after that are about help with the error.
                return asked;
            }
        }
    });
    let asked = asked.await.unwrap();
    assert!(shown.await.unwrap().starts_with("exit 3\n"));
    asked
}

/// Imports a task with an id that Chorus would not give.
async fn import(desk: &Desk, id: &str, description: &str) {
    let task = json!({
        "taskType": "descriptionOnly", "id": id, "description": description, "status": { "type": "pending" },
        "createdAt": 1_767_225_600_000_i64, "updatedAt": 1_767_225_600_000_i64, "sessionId": null,
        "source": { "sourceType": "api", "userId": "anonymous", "conversationId": null }, "agentWorkspace": "/tmp",
        "attachments": [], "currentAgent": null, "agentChain": [],
    });
    let archive = TaskArchive {
        task: serde_json::from_value(task).unwrap(),
        history: History::default(),
        queue: Queue::default(),
        conversation: Conversation::default(),
        runs: None,
        links: chorus::domain::TaskLinks::default(),
        folders: Vec::new(),
    };
    let import_task = move |tx: &mut Tx<'_>| {
        let tasks = Box::new(std::iter::once(Ok(archive.clone())));
        archive::import(
            tx,
            Import {
                tasks,
                ..Import::default()
            },
        )
    };
    desk.app.write(import_task).await.unwrap();
}
