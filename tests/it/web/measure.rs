//! Measures the page; nothing is asserted. `scripts/measure-page` runs it.

use std::time::{SystemTime, UNIX_EPOCH};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Browser, Events, Sandbox};

use super::flows::{call, create_task};

const ROUNDS: usize = 40;
const EVENTS: usize = 10_000;

#[expect(
    clippy::print_stdout,
    reason = "printing is the purpose of a measurement"
)]
fn report(line: &str) {
    println!("{line}");
}

/// Milliseconds since the epoch, as the page counts them.
fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs_f64()
        * 1000.0
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures; run scripts/measure-page"]
async fn the_weight_the_speed_and_the_memory_of_the_page() {
    let browser = Browser::start().await.expect("a browser");
    let sandbox = Sandbox::new();
    let server = sandbox.serve(0);
    let task = create_task(&server, "A card that moves").await;
    browser.open_as_operator(&server, "/board").await;
    browser.until_says("A card that moves").await;
    let files = browser
        .run(
            "const files = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].filter((one) => !one.name.includes('/api/') && !one.name.endsWith('/healthz'));
             return [files.length, files.reduce((sum, one) => sum + one.transferSize, 0), Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0)]",
        )
        .await;
    report(&format!(
        "first load of the board: {} files, {} bytes, first paint after {} ms",
        files[0], files[1], files[2]
    ));

    let mut events = Events::listen(&server.client()).await;
    events.wait_for("task_created", "moves").await;
    let (mut at_client, mut at_paint) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let status = if round % 2 == 0 { "waiting" } else { "pending" };
        browser
            .run(&format!(
                "window.painted = null;
                 const observer = new MutationObserver(() => {{
                     if (!document.querySelector('[data-status={status}] .card')) return;
                     observer.disconnect();
                     requestAnimationFrame(() => setTimeout(() => {{ window.painted = performance.timeOrigin + performance.now(); document.body.dataset.round = '{round}'; }}));
                 }});
                 observer.observe(document.body, {{ subtree: true, childList: true }}); return null"
            ))
            .await;
        let began = now();
        let body = json!({ "status": status });
        let path = format!("/api/tasks/{task}/status");
        let (_, arrived) = tokio::join!(call(&server, Method::PUT, &path, &body), async {
            events.wait_for("status_changed", status).await;
            now()
        });
        let painted: Value = browser.until("window.painted").await;
        at_client.push(arrived - began);
        at_paint.push(painted.as_f64().unwrap() - began);
    }
    report(&format!(
        "from the request to the event at a bare client: {:.1} ms; to the paint on the board: {:.1} ms (medians of {ROUNDS})",
        median(at_client),
        median(at_paint)
    ));

    let before = browser.memory().await;
    for number in 0..EVENTS / 2 {
        let status = if number % 2 == 0 {
            "waiting"
        } else {
            "pending"
        };
        let body = json!({ "status": status });
        call(
            &server,
            Method::PUT,
            &format!("/api/tasks/{task}/status"),
            &body,
        )
        .await;
        create_task(&server, &format!("Task {number}")).await;
    }
    browser
        .until(&format!("says('Task {}')", EVENTS / 2 - 1))
        .await;
    let after = browser.memory().await;
    report(&format!(
        "memory of the scripts: {before} bytes before, {after} bytes after {EVENTS} events"
    ));
}
