//! Flows through the page, in a real browser: create, hand off, approve, chat, drag

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Browser, DOWN, ENTER, ESCAPE, Look, Sandbox, Server};

/// Calls the API as the operator and returns the data of the answer.
pub(super) async fn call(server: &Server, method: Method, path: &str, body: &Value) -> Value {
    let request = server.operator().request(method, path);
    let request = if body.is_null() {
        request
    } else {
        request.json(body)
    };
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    assert!(answer["error"].is_null(), "{path}: {answer}");
    answer["data"].clone()
}

pub(super) async fn get(server: &Server, path: &str) -> Value {
    call(server, Method::GET, path, &Value::Null).await
}

/// Creates a task and returns its id.
pub(super) async fn create_task(server: &Server, description: &str) -> String {
    let body = json!({ "description": description });
    let task = call(server, Method::POST, "/api/tasks", &body).await;
    task["id"].as_str().unwrap().to_owned()
}

pub(super) async fn hand_off(server: &Server, task: &str, agent: &str) {
    let body = json!({ "agentName": agent, "prompt": "Do it." });
    call(
        server,
        Method::POST,
        &format!("/api/tasks/{task}/handoff"),
        &body,
    )
    .await;
}

/// Whether a column of the board has a card with this text.
fn card_in(column: &str, text: &str) -> String {
    format!(
        "[...document.querySelectorAll('[data-status={column}] .card')].find((card) => card.textContent.includes({}))",
        json!(text)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_created_handed_off_and_watched_to_its_end() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("end");
    let script = format!(
        "echo 'Reading the page'; read line <{}; echo 'All **done**'",
        gate.path().display()
    );
    let sandbox = sandbox.with_agent("writer", &script);
    let server = sandbox.serve(2);
    browser.open_as_operator(&server, "/").await;
    browser.until_says("No tasks yet").await;
    // The token is in no address.
    assert_eq!(browser.run("return location.hash").await, "");

    browser.press("Create a task").await;
    browser.fill("Description", "Write the page").await;
    browser.press("Create").await;
    browser.until(&card_in("pending", "Write the page")).await;
    browser
        .click("document.querySelector('.card .menu button')")
        .await;
    browser.press("Hand to writer").await;
    browser.until(&card_in("active", "Reading the page")).await;
    browser.until(&card_in("active", "writer")).await;

    browser
        .click("document.querySelector('.card .card-title')")
        .await;
    browser.until_says("delegated by a person").await;
    gate.let_one_through();
    browser.until("text('.hop-detail strong') === 'done'").await;
    browser.until_says("waiting").await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_output_the_log_and_the_prompt_of_an_agent_are_shown() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("end");
    let script = format!(
        "echo 'first line'; echo 'a warning' >&2; read line <{}; echo 'second line'",
        gate.path().display()
    );
    let sandbox = sandbox.with_agent("printer", &script);
    let server = sandbox.serve(2);
    let task = create_task(&server, "Print lines").await;
    hand_off(&server, &task, "printer").await;
    let path = format!("/tasks/{task}?tab=output");
    browser.open_as_operator(&server, &path).await;
    browser.until_says("first line").await;
    browser.press("Raw output").await;
    browser.until("text('.log').includes('first line')").await;
    gate.let_one_through();
    browser.until("text('.log').includes('second line')").await;
    browser.press("Errors of the program").await;
    browser.until("text('.log').includes('a warning')").await;
    browser.press("Prompt as sent").await;
    browser
        .until("text('dialog .log').includes('# Your assignment')")
        .await;
    browser.keys(ESCAPE).await;
    browser.until("!document.querySelector('dialog')").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_approved_where_they_need_a_person() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve_with(0, &["--port", "0", "--no-dispatch"]);
    let file = async |title: &str| {
        let body = json!({ "title": title, "kind": "chores", "body": "Because **it** matters." });
        let request = call(&server, Method::POST, "/api/requests", &body).await;
        request["id"].as_str().unwrap().to_owned()
    };
    let first = file("Sweep the floor").await;
    browser.open_as_operator(&server, "/needs").await;
    browser.until_says("Sweep the floor").await;
    browser.until("document.title.startsWith('(1)')").await;
    // New items appear by themselves.
    let (second, third) = (
        file("Clean the windows").await,
        file("Water the plants").await,
    );
    browser.until_says("Water the plants").await;
    browser.until("document.title.startsWith('(3)')").await;

    browser.press("Sweep the floor").await;
    browser.until("text('.need-details strong') === 'it'").await;
    browser
        .click("[...document.querySelectorAll('.need')].find((one) => one.textContent.includes('Sweep')).querySelector('.need-actions button')")
        .await;
    // The second click of a double click, on the row that has moved under the pointer.
    browser
        .run("const rows = () => document.querySelectorAll('.need'); \
              const again = () => (rows().length > 2 ? requestAnimationFrame(again) : rows()[0].querySelector('.need-actions button').click()); again();")
        .await;
    browser.until("document.querySelectorAll('.need').length === 2 && !('resting' in document.body.dataset)").await;
    browser.until("!says('Sweep the floor')").await;
    for id in [&second, &third] {
        let request = get(&server, &format!("/api/requests/{id}")).await;
        assert_eq!(request["state"], "needs");
    }
    browser
        .click("document.querySelector('.select-bar input')")
        .await;
    browser.press("Approve selected").await;
    browser.until_says("Nothing needs you").await;
    browser.until("!document.title.startsWith('(')").await;
    for id in [first, second, third] {
        let request = get(&server, &format!("/api/requests/{id}")).await;
        assert_eq!(request["state"], "delegated");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn alerts_mail_and_failed_runs_are_settled_in_place() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new().with_agent("broken", "echo 'no compiler' >&2; exit 1");
    let server = sandbox.serve(2);
    let task = create_task(&server, "Compile the moon").await;
    hand_off(&server, &task, "broken").await;
    let alert = json!({ "message": "The key expires" });
    call(&server, Method::POST, "/api/alerts", &alert).await;
    let mail = json!({ "to": ["operator"], "subject": "A word", "body": "Please look." });
    call(&server, Method::POST, "/api/mail", &mail).await;
    browser.open_as_operator(&server, "/needs").await;
    for text in ["Compile the moon", "The key expires", "A word"] {
        browser.until_says(text).await;
    }
    browser.until_says("no compiler").await;
    browser.press("Resolve").await;
    browser.until("!says('The key expires')").await;
    browser.press("Mark as read").await;
    browser.until("!says('A word')").await;
    browser.press("Give up…").await;
    browser
        .fill("What went wrong", "There is no compiler")
        .await;
    browser.press("Set to failed").await;
    browser.until_says("Nothing needs you").await;
    let task = get(&server, &format!("/api/tasks/{task}")).await;
    assert_eq!(
        task["status"],
        json!({ "type": "failed", "message": "There is no compiler" })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_appears_in_an_open_chat() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("call");
    let script = format!(
        "echo 'Let me see'; read line <{}; chorus tool call handoff_to_sales --var lead_id=L-77 --var budget=5000",
        gate.path().display()
    );
    let sandbox = sandbox
        .with_agent("triage", &script)
        .with_agent("sales", "echo 'Good morning'");
    let server = sandbox.serve(4);
    let tool = json!({
        "name": "handoff_to_sales", "description": "For leads", "targetAgent": "sales", "handoffInstructions": "",
        "contextVariables": [
            { "name": "lead_id", "type": "string", "required": true, "description": "The lead" },
            { "name": "budget", "type": "number", "required": false, "description": "In dollars" },
        ],
    });
    call(&server, Method::POST, "/api/tools", &tool).await;
    let task = create_task(&server, "A lead").await;
    hand_off(&server, &task, "triage").await;
    browser
        .open_as_operator(&server, &format!("/chat/{task}"))
        .await;
    browser.until_says("Let me see").await;
    browser.run("window.isTheSamePage = true").await;
    gate.let_one_through();
    browser
        .until("text('.move.transfer').includes('Routed to')")
        .await;
    for part in ["sales", "lead_id", "L-77", "budget", "5000"] {
        browser
            .until(&format!("text('.move.transfer').includes({})", json!(part)))
            .await;
    }
    browser.until_says("Good morning").await;
    browser
        .until("text('.chat-side').includes('transferred')")
        .await;
    assert_eq!(browser.run("return window.isTheSamePage").await, true);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_queued_while_an_agent_works_and_sent_together_when_it_has_ended() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("turn");
    let script = format!(
        "cat >>heard.txt; echo 'I am listening'; read line <{}; echo 'Turn over'",
        gate.path().display()
    );
    let sandbox = sandbox.with_agent("listener", &script);
    let server = sandbox.serve(2);
    browser.open_as_operator(&server, "/chat").await;
    browser.until_says("Talk to your agents").await;
    browser
        .until("field('To')?.options.length > 1 && (field('To').value = 'listener') && field('To').dispatchEvent(new Event('change', { bubbles: true }))")
        .await;
    browser.fill("First message", "Good morning").await;
    browser.press("Send").await;
    browser.until_says("I am listening").await;
    browser
        .until("location.pathname.startsWith('/chat/') && says('messages are queued')")
        .await;
    for message in ["Do this first", "Take me back", "And then that"] {
        browser.fill("Message to listener", message).await;
        browser.keys(ENTER).await;
        browser
            .until(&format!(
                "[...document.querySelectorAll('.message.queued')].some((one) => one.textContent.includes({}))",
                json!(message)
            ))
            .await;
    }
    browser
        .click("[...document.querySelectorAll('.message.queued')].find((one) => one.textContent.includes('Take me back')).querySelector('button')")
        .await;
    browser.until("!says('Take me back')").await;
    let id = browser
        .run("return location.pathname.split('/').at(-1)")
        .await;
    let task = id.as_str().unwrap();
    gate.let_one_through();
    browser
        .until("!document.querySelector('.message.queued') && says('Turn over')")
        .await;
    browser
        .until("document.querySelectorAll('.side-hops li').length === 2")
        .await;
    gate.let_one_through();
    browser
        .until("document.querySelectorAll('.typing').length === 0 && says('last with')")
        .await;
    let handoffs = get(&server, &format!("/api/tasks/{task}/handoffs")).await;
    let prompts: Vec<_> = handoffs
        .as_array()
        .unwrap()
        .iter()
        .map(|handoff| handoff["prompt"].as_str().unwrap())
        .collect();
    assert_eq!(prompts, ["Good morning", "Do this first\n\nAnd then that"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_gives_a_conversation_to_another_agent_by_hand() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("never");
    let script = format!("echo 'Busy'; read line <{}", gate.path().display());
    let sandbox = sandbox
        .with_agent("busy", &script)
        .with_agent("other", "echo 'I take over'");
    let server = sandbox.serve(2);
    let task = create_task(&server, "A conversation").await;
    hand_off(&server, &task, "busy").await;
    browser
        .open_as_operator(&server, &format!("/chat/{task}"))
        .await;
    browser.until_says("Busy").await;
    browser.press("Hand to").await;
    browser.press("other").await;
    browser.press("Stop and hand to other").await;
    browser.until_says("I take over").await;
    let handoffs = get(&server, &format!("/api/tasks/{task}/handoffs")).await;
    assert_eq!(handoffs[0]["outcome"], "cancelled");
    assert_eq!(handoffs[1]["agentName"], "other");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_is_dragged_to_another_status() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve(0);
    let task = create_task(&server, "Drag me").await;
    browser.open_as_operator(&server, "/board").await;
    let card = card_in("pending", "Drag me");
    browser
        .drag(&card, "document.querySelector('[data-status=completed]')")
        .await;
    browser.until(&card_in("completed", "Drag me")).await;
    browser.until_says("Set to completed").await;
    let status = async || get(&server, &format!("/api/tasks/{task}")).await["status"].clone();
    assert_eq!(status().await, json!({ "type": "completed" }));
    browser.press("Undo").await;
    browser.until(&card_in("pending", "Drag me")).await;
    // To fail a task needs a message, and a dialog can be left.
    browser
        .drag(&card, "document.querySelector('[data-status=failed]')")
        .await;
    browser.until_says("What went wrong").await;
    browser.keys(ESCAPE).await;
    browser.until("!document.querySelector('dialog')").await;
    browser.until(&card).await;
    assert_eq!(status().await, json!({ "type": "pending" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_created_handed_off_and_a_request_approved_with_the_keyboard_alone() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new().with_agent("zoe", "echo 'Done with keys'");
    let server = sandbox.serve_with(2, &["--port", "0", "--no-dispatch"]);
    let body = json!({ "title": "Sweep the floor", "kind": "chores", "body": "" });
    let request = call(&server, Method::POST, "/api/requests", &body).await;
    browser.open_as_operator(&server, "/needs").await;
    browser.until_says("Sweep the floor").await;

    browser.keys("?").await;
    browser.until_says("Create a task").await;
    browser.keys(ESCAPE).await;
    browser.until("!document.querySelector('dialog')").await;
    browser.keys("gb").await;
    browser.until_says("No tasks yet").await;
    browser.keys("c").await;
    browser
        .until("document.activeElement === field('Description')")
        .await;
    browser.keys("Typed c and j").await;
    browser.tab_to("Create").await;
    browser.keys(ENTER).await;
    browser.until(&card_in("pending", "Typed c and j")).await;
    browser.until("!document.querySelector('dialog')").await;

    browser.keys("j").await;
    browser
        .until("document.activeElement.matches('.card')")
        .await;
    browser.keys("h").await;
    browser
        .until("document.activeElement === field('Agent')")
        .await;
    browser.until("field('Agent').options.length > 1").await;
    browser.keys("z").await;
    browser.until("field('Agent').value === 'zoe'").await;
    browser.tab_to("Prompt").await;
    browser.keys("Go").await;
    browser.tab_to("Hand off").await;
    browser.keys(ENTER).await;
    browser.until(&card_in("waiting", "Done with keys")).await;

    // The menu of a card, too.
    browser.until("!document.querySelector('dialog')").await;
    browser
        .until(
            "document.activeElement === document.body || document.activeElement.matches('.card')",
        )
        .await;
    browser.keys("j").await;
    browser.keys("m").await;
    browser
        .until("document.activeElement.matches('[role=menuitem]')")
        .await;
    browser.keys(DOWN).await;
    browser.keys(ESCAPE).await;

    browser.keys("gn").await;
    browser.until_says("Sweep the floor").await;
    browser.keys("j").await;
    browser
        .until("document.activeElement.matches('.need')")
        .await;
    browser.keys("a").await;
    browser.until_says("Nothing needs you").await;
    let path = format!("/api/requests/{}", request["id"].as_str().unwrap());
    assert_eq!(get(&server, &path).await["state"], "delegated");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_shows_the_navigation_and_moves_between_views() {
    let look = Look {
        is_phone: true,
        ..Look::default()
    };
    let Some(browser) = Browser::start_as(look).await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve(0);
    create_task(&server, "A task on a phone").await;
    browser.open_as_operator(&server, "/board").await;
    browser.until_says("A task on a phone").await;
    browser.press("Chat").await;
    browser.until_says("Talk to your agents").await;
    browser.press("More").await;
    browser.press("Agents").await;
    browser.until("location.pathname === '/agents'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_of_many_tasks_draws_only_what_is_visible() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve(0);
    for number in 1..=300 {
        create_task(&server, &format!("Task number {number}")).await;
    }
    browser.open_as_operator(&server, "/board").await;
    browser.until(&card_in("pending", "Task number 300")).await;
    let drawn = browser
        .run("return document.querySelectorAll('.card').length")
        .await;
    assert!((5..100).contains(&drawn.as_u64().unwrap()), "{drawn}");
    // The end of the column is reached by scrolling, a page at a time.
    browser
        .run("window.roll = setInterval(() => { const list = document.querySelector('[data-status=pending] .virtual'); list.scrollTop = list.scrollHeight; }, 50)")
        .await;
    browser.until("[...document.querySelectorAll('.card-title')].some((title) => title.textContent === 'Task number 1')").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_without_a_token_is_asked_for_it_when_a_decision_needs_it() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve_with(0, &["--port", "0", "--no-dispatch", "--require-token"]);
    let body = json!({ "title": "Sweep the floor", "kind": "chores", "body": "" });
    call(&server, Method::POST, "/api/requests", &body).await;
    browser.open(&format!("{}/requests", server.url)).await;
    browser.until_says("Sign in as the operator").await;
    browser.fill("Token or link", "wrong").await;
    browser.press("Sign in").await;
    browser
        .until_says("The server does not know this token")
        .await;
    let token = std::fs::read_to_string(server.data_dir.join("operator.token")).unwrap();
    browser
        .run("const token = field('Token or link'); token.value = ''; token.dispatchEvent(new Event('input')); return null")
        .await;
    browser.fill("Token or link", token.trim()).await;
    browser.press("Sign in").await;
    browser.until("!document.querySelector('dialog')").await;
    browser.until_says("Sweep the floor").await;
    browser.until_says("Live").await;
    let kept = browser
        .run("return [Object.values(localStorage).join(), location.href, document.cookie]")
        .await;
    assert!(!kept.to_string().contains(token.trim()), "{kept}");
}
