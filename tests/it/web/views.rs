//! Every view: accessibility, phone width, pictures

use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Browser, Events, Gate, Look, Sandbox, Server};

use super::flows::{call, create_task, get, hand_off};

/// The environment variable with the path of axe-core's `axe.min.js`; `scripts/check-page` sets it.
const AXE: &str = "CHORUS_TEST_AXE";

/// The environment variable with the folder for pictures; `scripts/screenshots` sets it.
const PICTURES: &str = "CHORUS_TEST_PICTURES";

/// Returns an address of every view that the page has.
pub(super) async fn addresses(server: &Server, task: &str) -> Vec<String> {
    let mut found: Vec<String> = [
        "/board",
        "/needs",
        "/chat",
        "/requests",
        "/increments",
        "/mail",
        "/sessions",
        "/agents",
        "/tools",
        "/figures",
    ]
    .map(str::to_owned)
    .into();
    for tab in ["", "tree", "output", "files", "history", "about"] {
        found.push(format!("/tasks/{task}?tab={tab}"));
    }
    found.push(format!("/chat/{task}"));
    for (list, path, key) in [
        ("/api/requests", "/requests", "id"),
        ("/api/increments", "/increments", "id"),
        ("/api/mail", "/mail", "id"),
        ("/api/sessions", "/sessions", "id"),
        ("/api/agents", "/agents", "name"),
        ("/api/tools", "/tools", "name"),
    ] {
        let all = get(server, list).await;
        let first = all[0][key].as_str();
        found.extend(first.map(|id| format!("{path}/{id}")));
    }
    found
}

/// A server with something to show in every view, an agent at work included.
struct Furnished {
    server: Server,
    task: String,
    /// The agent works until this gate opens.
    gate: Gate,
    _sandbox: Sandbox,
}

impl Drop for Furnished {
    fn drop(&mut self) {
        self.gate.let_one_through();
    }
}

impl Furnished {
    async fn new() -> Self {
        let sandbox = Sandbox::new();
        let gate = sandbox.gate("end");
        let script = format!(
            "echo 'Reading src/store/tables'; read line <{}",
            gate.path().display()
        );
        let sandbox = sandbox
            .with_agent("scout", &script)
            .with_agent("triage", "echo 'A lead, for sales.'; chorus tool call handoff_to_sales --var lead_id=L-77 --var budget=5000")
            .with_agent("sales", "printf '# Offer\\n\\n- 20 seats\\n- **$900** a month\\n\\n| seats | price |\\n|---|---|\\n| 20 | 900 |\\n'")
            .with_agent("lead", "echo 'I ask the helper.'; echo \"The helper says: $(chorus handoff helper 'Count the words.')\"")
            .with_agent("helper", "echo '17 words'")
            .with_agent("broken", "echo 'error: mismatched types' >&2; exit 1")
            .with_specialist("ada", "implementation", &["rust"], "echo 'Wrote main.rs'")
            .with_specialist("tess", "testing", &["qa"], "chorus task report blocked --summary 'Which time zone?'");
        let server = sandbox.serve_with(4, &["--port", "0", "--no-dispatch"]);
        let post = async |path: &str, body: Value| call(&server, Method::POST, path, &body).await;
        post(
            "/api/tools",
            json!({
                "name": "handoff_to_sales", "description": "Use it for qualified leads.", "targetAgent": "sales", "handoffInstructions": "Answer within a day.",
                "contextVariables": [
                    { "name": "lead_id", "type": "string", "required": true, "description": "The lead" },
                    { "name": "budget", "type": "number", "required": false, "description": "In dollars" },
                ],
            }),
        )
        .await;
        let mut tasks = Vec::new();
        for (description, agent) in [
            ("A lead wants a demo of the team plan", Some("triage")),
            ("Count the words of the haiku in haiku.txt", Some("lead")),
            (
                "Port the billing module to the new money type",
                Some("broken"),
            ),
            ("Draft the release notes", None),
            ("Remove the deprecated endpoints", None),
        ] {
            let task = create_task(&server, description).await;
            if let Some(agent) = agent {
                hand_off(&server, &task, agent).await;
                let path = format!("/api/tasks/{task}?wait=settled&timeout=60");
                get(&server, &path).await;
            }
            tasks.push(task);
        }
        let task = create_task(&server, "Read the code and list what is unused").await;
        hand_off(&server, &task, "scout").await;
        let mut events = Events::listen(&server.client()).await;
        events.wait_for("message_added", "Reading src").await;
        for (title, priority) in [("Fix the flaky retry", "P0"), ("Compare three tools", "P2")] {
            post(
                "/api/requests",
                json!({ "title": title, "kind": "chores", "priority": priority, "body": "It fails **once** in fifty runs." }),
            )
            .await;
        }
        post(
            "/api/alerts",
            json!({ "message": "The staging key expires on Friday" }),
        )
        .await;
        post("/api/mail", json!({ "to": ["operator"], "subject": "The report is ready", "body": "Two numbers need your eye." })).await;
        post(
            "/api/sessions/sess_1/handoffs",
            json!({ "fromAgent": "triage", "toAgent": "helper", "reason": "They want to buy", "userIntent": "Choose a plan",
                "conversationHistory": [{ "role": "user", "content": "Which plan fits us?" }] }),
        )
        .await;
        post(
            "/api/increments",
            json!({ "title": "Read dates", "description": "The parser reads ISO dates", "testCommand": "grep dates main.rs" }),
        )
        .await;
        Self {
            server,
            task: tasks.swap_remove(0),
            gate,
            _sandbox: sandbox,
        }
    }

    async fn addresses(&self) -> Vec<String> {
        addresses(&self.server, &self.task).await
    }
}

/// Opens a view and waits until it is loaded.
async fn show(browser: &Browser, server: &Server, path: &str) {
    browser.open_as_operator(server, path).await;
    browser
        .until("document.querySelector('main h1, main h2') && !document.querySelector('main .loading') && says('Live') || document.querySelector('main .state')")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_view_loads_without_a_complaint_of_the_browser() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let furnished = Furnished::new().await;
    for path in furnished.addresses().await {
        show(&browser, &furnished.server, &path).await;
        let failed = browser
            .run("return document.querySelector('main .part-failed, main .state.failed')?.textContent ?? null")
            .await;
        assert!(failed.is_null(), "{path}: {failed}");
        assert_eq!(browser.complaints().await, Vec::<String>::new(), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_view_fits_a_phone() {
    let look = Look {
        is_phone: true,
        ..Look::default()
    };
    let Some(browser) = Browser::start_as(look).await else {
        return;
    };
    let furnished = Furnished::new().await;
    for path in furnished.addresses().await {
        browser.open_as_operator(&furnished.server, &path).await;
        browser
            .until("document.querySelector('main h1, main h2, main .state') && !document.querySelector('main .loading')")
            .await;
        let wide = browser
            .run(
                "const width = document.documentElement.clientWidth;
                 if (document.documentElement.scrollWidth <= width) return null;
                 return all('main *').filter((el) => el.getBoundingClientRect().right > width + 1).map((el) => `${el.tagName}.${el.className}`).slice(0, 5)",
            )
            .await;
        assert!(wide.is_null(), "{path} is wider than the screen: {wide}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_view_has_a_serious_fault_of_accessibility() {
    let Some(axe) = std::env::var_os(AXE).map(PathBuf::from) else {
        crate::support::leave_out::<()>(
            "the accessibility of the page was NOT tested",
            &"run scripts/check-page, which needs Node",
        );
        return;
    };
    let axe = std::fs::read_to_string(axe).unwrap();
    for is_dark in [false, true] {
        let look = Look {
            is_dark,
            ..Look::default()
        };
        let Some(browser) = Browser::start_as(look).await else {
            return;
        };
        let furnished = Furnished::new().await;
        for path in furnished.addresses().await {
            show(&browser, &furnished.server, &path).await;
            let theme = if is_dark { "dark" } else { "light" };
            browser
                .run(&format!(
                    "document.documentElement.dataset.theme = '{theme}'; {axe}; return null"
                ))
                .await;
            let found = browser
                .run_async(
                    "const { violations } = await axe.run(document, { resultTypes: ['violations'] });
                     return violations.filter((one) => ['serious', 'critical'].includes(one.impact))
                         .map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 4).map((node) => `${node.target.join(' ')} ${node.any.map((any) => any.message).join(' ')}`).join(' | ')}`);",
                )
                .await;
            assert_eq!(found, json!([]), "{path} ({theme})");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "makes pictures; run scripts/screenshots"]
async fn pictures_of_every_view() {
    let folder = PathBuf::from(std::env::var_os(PICTURES).expect("the folder for the pictures"));
    let furnished = Furnished::new().await;
    for (name, is_dark, is_phone) in [
        ("light", false, false),
        ("dark", true, false),
        ("phone", false, true),
    ] {
        let browser = Browser::start_as(Look { is_phone, is_dark }).await.unwrap();
        for path in furnished.addresses().await {
            browser.open_as_operator(&furnished.server, &path).await;
            browser
                .until("document.querySelector('main h1, main h2, main .state') && !document.querySelector('main .loading')")
                .await;
            if is_dark {
                browser
                    .run("document.documentElement.dataset.theme = 'dark'; return null")
                    .await;
            }
            let words: Vec<&str> = path
                .split(['/', '?', '='])
                .filter(|word| !word.is_empty())
                .collect();
            let view = match words[..] {
                [first] => first.to_owned(),
                ["tasks", _, "tab"] => "task".to_owned(),
                ["tasks", _, "tab", tab] => format!("task-{tab}"),
                [first, ..] => format!("{first}-one"),
                [] => unreachable!("an address has a word"),
            };
            std::fs::write(
                folder.join(format!("{view}-{name}.png")),
                browser.picture().await,
            )
            .unwrap();
        }
    }
}
