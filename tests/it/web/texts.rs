//! Very long words, turned-around text and line breaks in the texts of agents and people

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Browser, Look, Sandbox, Server};

use super::flows::{call, create_task};
use super::views::addresses;

/// One line: a link and HTML that must stay text, a character that turns the text around, and a word without an end.
fn line() -> String {
    format!(
        "<img src=x onerror=window.hacked=1> [x](javascript:window.hacked=1) \u{202e}evil {}",
        "W".repeat(300)
    )
}

async fn fill(server: &Server) -> String {
    let post = async |path: &str, body: Value| call(server, Method::POST, path, &body).await;
    let text = format!("{0}\n\n# {0}\n\n- {0}", line());
    let task = create_task(server, &text).await;
    for state in ["needs", "done"] {
        let request = json!({ "title": line(), "kind": "chores", "body": text });
        let request = post("/api/requests", request).await;
        if state == "done" {
            let path = format!("/api/requests/{}/done", request["id"].as_str().unwrap());
            post(&path, json!({ "response": text })).await;
        }
    }
    let increment = json!({ "title": line(), "description": text, "testCommand": line() });
    post("/api/increments", increment).await;
    let mail = json!({ "from": "echo", "to": ["operator"], "subject": line(), "body": text, "context": { "a": text, "b": [line()] } });
    post("/api/mail", mail).await;
    let moved = json!({ "fromAgent": "echo", "toAgent": "other", "reason": text, "userIntent": text, "invoke": false,
        "conversationHistory": [{ "role": "user", "content": text }] });
    post("/api/sessions/s-1/handoffs", moved).await;
    let tool = json!({ "name": "to_echo", "description": text, "targetAgent": "echo", "handoffInstructions": text,
        "contextVariables": [{ "name": "n".repeat(64), "type": "string", "required": true, "description": line() }] });
    post("/api/tools", tool).await;
    std::fs::write(server.data_dir.join("echo.md"), &text).unwrap();
    let agent = json!({ "responsibilities": line(), "model": line(), "specPath": "echo.md", "skills": ["w".repeat(64)],
        "environment": { "A": line() }, "arguments": [line()] });
    call(server, Method::PATCH, "/api/agents/echo", &agent).await;
    task
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_runs_or_makes_a_view_wider_than_a_phone() {
    let look = Look {
        is_phone: true,
        ..Look::default()
    };
    let Some(browser) = Browser::start_as(look).await else {
        return;
    };
    let sandbox = Sandbox::new()
        .with_agent("echo", "true")
        .with_agent("other", "true");
    let server = sandbox.serve_with(0, &["--port", "0", "--no-dispatch"]);
    let task = fill(&server).await;
    let mut all = addresses(&server, &task).await;
    // Agents are listed by name: the first one is not the one with the texts.
    all.push("/agents/echo".to_owned());
    for path in all {
        browser.open_as_operator(&server, &path).await;
        browser
            .until("document.querySelector('main h1, main h2') && !document.querySelector('main .loading')")
            .await;
        browser
            .run("for (const one of all('main [aria-expanded=false]:not([aria-haspopup]), main summary')) one.click(); return null")
            .await;
        browser
            .until("!document.querySelector('main .loading')")
            .await;
        let found = browser
            .run(
                "const width = document.documentElement.clientWidth;
                 return [window.hacked ?? null, document.querySelector('main .part-failed')?.textContent ?? null, document.querySelectorAll('img, main a[href^=javascript]').length,
                    document.documentElement.scrollWidth <= width ? [] : all('main *').filter((el) => el.getBoundingClientRect().right > width + 1).map((el) => `${el.tagName}.${el.className}`).slice(0, 5)]",
            )
            .await;
        assert_eq!(found, json!([null, null, 0, []]), "{path}");
    }
}
