//! Hostile data in every field and every output: the page shows it as text

use reqwest::Method;
use serde_json::json;

use crate::support::{Browser, Sandbox, Server};

use super::flows::{call, create_task, get, hand_off};
use super::views::addresses;

/// Attempts to run a script, as HTML, Markdown, an address and an attribute.
const ATTACK: &str = r#"<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>[x](javascript:window.hacked=1)"><svg onload=window.hacked=1>{{window.hacked=1}}"#;

/// Fills a server with the attack wherever a text is accepted. Returns the id of a task.
async fn fill(server: &Server) -> String {
    let post =
        async |path: &str, body: serde_json::Value| call(server, Method::POST, path, &body).await;
    let task = create_task(server, ATTACK).await;
    let planning = json!({ "summary": ATTACK, "requirements": [ATTACK], "acceptanceCriteria": [ATTACK], "plan": [ATTACK] });
    call(
        server,
        Method::PUT,
        &format!("/api/tasks/{task}/planning"),
        &planning,
    )
    .await;
    let needs = json!({ "specialistTags": ["<b>tag</b>"], "agentContext": { "<i>": ATTACK }, "handoffInstructions": { "x": ATTACK } });
    call(server, Method::PATCH, &format!("/api/tasks/{task}"), &needs).await;
    let tool = json!({
        "name": "handoff_to_echo2", "description": ATTACK, "targetAgent": "echo2", "handoffInstructions": ATTACK,
        "contextVariables": [{ "name": "note", "type": "string", "required": false, "description": ATTACK }],
    });
    post("/api/tools", tool).await;
    hand_off(server, &task, "echo").await;
    let path = format!("/api/tasks/{task}?wait=idle&timeout=60");
    get(server, &path).await;
    let transferred = post(
        &format!("/api/tasks/{task}/tools/handoff_to_echo2"),
        json!({ "note": ATTACK }),
    )
    .await;
    let child = transferred["id"].as_str().unwrap().to_owned();
    get(server, &format!("/api/tasks/{child}?wait=idle&timeout=60")).await;
    post(
        &format!("/api/tasks/{child}/queue"),
        json!({ "content": ATTACK }),
    )
    .await;
    post(
        "/api/requests",
        json!({ "title": ATTACK, "kind": "chores", "body": ATTACK }),
    )
    .await;
    post("/api/alerts", json!({ "message": ATTACK, "taskId": task })).await;
    post(
        "/api/mail",
        json!({ "to": ["operator"], "subject": ATTACK, "body": ATTACK, "context": { "<i>": ATTACK } }),
    )
    .await;
    post(
        "/api/increments",
        json!({ "title": ATTACK, "description": ATTACK, "testCommand": ATTACK }),
    )
    .await;
    post(
        "/api/sessions/s-1/handoffs",
        json!({ "fromAgent": "echo", "toAgent": "echo2", "reason": ATTACK, "userIntent": ATTACK,
            "conversationHistory": [{ "role": "user", "content": ATTACK }] }),
    )
    .await;
    let failing = create_task(server, "Fails").await;
    hand_off(server, &failing, "bad").await;
    get(
        server,
        &format!("/api/tasks/{failing}?wait=idle&timeout=60"),
    )
    .await;
    let failed = json!({ "status": { "type": "failed", "message": ATTACK } });
    let other = create_task(server, "Another").await;
    call(
        server,
        Method::PUT,
        &format!("/api/tasks/{other}/status"),
        &failed,
    )
    .await;
    let agent = json!({ "responsibilities": ATTACK });
    call(server, Method::PATCH, "/api/agents/echo", &agent).await;
    task
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_of_an_agent_or_a_person_runs_in_the_page() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let script = format!("cat <<'END'\n{ATTACK}\nEND");
    let sandbox = Sandbox::new()
        .with_agent("echo", &script)
        .with_agent("echo2", &script)
        .with_agent(
            "bad",
            &format!("{script}\ncat >&2 <<'END'\n{ATTACK}\nEND\nexit 1"),
        );
    let server = sandbox.serve(4);
    let task = fill(&server).await;
    browser.open_as_operator(&server, "/board").await;
    browser.until("says('<img src=x')").await;
    for path in addresses(&server, &task).await {
        browser.open_as_operator(&server, &path).await;
        browser
            .until("document.querySelector('main h1, main h2') && !document.querySelector('main .loading')")
            .await;
        // Opens what can be opened.
        browser
            .run("for (const one of all('main [aria-expanded=false]:not([aria-haspopup]), main summary')) one.click(); return null")
            .await;
        browser
            .until("!document.querySelector('main .loading')")
            .await;
        let found = browser
            .run(
                "return [window.hacked, document.querySelectorAll('img[onerror], svg[onload], script:not([src]), a[href^=javascript]').length,
                 document.querySelectorAll('script').length]",
            )
            .await;
        assert_eq!(found, json!([null, 0, 1]), "{path}");
        assert_eq!(browser.complaints().await, Vec::<String>::new(), "{path}");
    }
}
