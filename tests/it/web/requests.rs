//! Requests are decided on the page

use reqwest::Method;
use serde_json::json;

use crate::support::{Browser, ENTER, Sandbox, Server};

use super::flows::{call, get};

async fn file(server: &Server, title: &str, kind: &str) -> String {
    let body = json!({ "title": title, "kind": kind, "body": "Because **it** matters." });
    let request = call(server, Method::POST, "/api/requests", &body).await;
    request["id"].as_str().unwrap().to_owned()
}

/// A button of the row with this title.
fn in_row(title: &str, label: &str) -> String {
    format!(
        "all('.need').find((row) => row.textContent.includes({}))?.querySelector('.need-actions')?.querySelectorAll('button').values().find((one) => one.textContent === {})",
        json!(title),
        json!(label)
    )
}

async fn state(server: &Server, id: &str) -> serde_json::Value {
    get(server, &format!("/api/requests/{id}")).await["state"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_approved_left_to_the_next_closed_and_returned() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve_with(0, &["--port", "0", "--no-dispatch"]);
    let first = file(&server, "Sweep the floor", "chores").await;
    let second = file(&server, "Compare tools", "research").await;
    browser.open_as_operator(&server, "/requests").await;
    assert_eq!(browser.run("return location.hash").await, "");
    browser.until_says("Sweep the floor").await;

    browser.press("Sweep the floor").await;
    browser.until("text('.need-details strong') === 'it'").await;
    browser.click(&in_row("Sweep", "Approve")).await;
    browser.until(&in_row("Sweep", "Withdraw")).await;
    assert_eq!(state(&server, &first).await, "delegated");

    browser.click(&in_row("Compare", "Next")).await;
    browser.until(&in_row("Compare", "Withdraw")).await;
    let claim = json!({ "agent": "planner", "leaseSeconds": 600 });
    let path = format!("/api/requests/{second}/claim");
    call(&server, Method::POST, &path, &claim).await;
    browser.click(&in_row("Compare", "Return…")).await;
    browser.fill("Reason", "Too broad").await;
    browser.press("Return").await;
    browser.click(&in_row("Compare", "Close…")).await;
    browser.fill("Response", "We keep **ours**").await;
    browser.press("Done").await;
    browser
        .until("!document.querySelector('dialog') && all('.need').find((row) => row.textContent.includes('Compare')).textContent.includes('done')")
        .await;
    assert_eq!(state(&server, &second).await, "done");

    browser
        .open_as_operator(&server, &format!("/requests/{second}"))
        .await;
    // Its life, with the reason of each change.
    browser
        .until("all('.life li').length >= 5 && says('Too broad')")
        .await;
    browser.until_says("We keep ours").await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_withdrawn() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve_with(0, &["--port", "0", "--no-dispatch"]);
    let id = file(&server, "Sweep the floor", "chores").await;
    browser
        .open_as_operator(&server, &format!("/requests/{id}"))
        .await;
    browser.press("Approve").await;
    browser.press("Withdraw").await;
    browser
        .until("all('.life li').length === 3 && button('Approve')")
        .await;
    assert_eq!(state(&server, &id).await, "needs");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_shown_by_state_and_kind_and_found_again_by_their_address() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve_with(0, &["--port", "0", "--no-dispatch"]);
    for (title, kind) in [("Sweep", "chores"), ("Dust", "chores"), ("Ask", "research")] {
        file(&server, title, kind).await;
    }
    let titles = |expected: &str| {
        format!("all('.need-title').map((one) => one.textContent).join() === '{expected}'")
    };
    browser.open_as_operator(&server, "/requests").await;
    // Newest first.
    browser.until(&titles("Ask,Dust,Sweep")).await;
    browser.fill("Kind", "chores").await;
    browser.keys(ENTER).await;
    browser.until(&titles("Dust,Sweep")).await;
    // The first item, then its action, by the keyboard alone.
    browser
        .run("document.activeElement.blur(); return null")
        .await;
    browser.keys("ja").await;
    browser.press("Needs you").await;
    browser
        .open_as_operator(&server, "/requests?kind=chores&state=needs")
        .await;
    browser.until(&titles("Sweep")).await;
    file(&server, "Wipe", "chores").await;
    file(&server, "Read", "research").await;
    browser.until(&titles("Wipe,Sweep")).await;
    browser
        .open_as_operator(&server, "/requests?state=removed")
        .await;
    browser.until_says("No tag was removed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_of_requests_is_loaded_page_by_page() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve_with(0, &["--port", "0", "--no-dispatch"]);
    for place in 0..120 {
        file(&server, &format!("Request {place}"), "chores").await;
    }
    browser.open_as_operator(&server, "/requests").await;
    browser.until("all('.need').length === 50").await;
    browser
        .run("scrollTo(0, document.body.scrollHeight); return null")
        .await;
    browser.until("all('.need').length === 100").await;
    browser
        .run("scrollTo(0, document.body.scrollHeight); return null")
        .await;
    browser.until("all('.need').length === 120").await;
    // A change keeps what a person has scrolled to; what it pushes out is one page further.
    file(&server, "The newest", "chores").await;
    browser
        .until("says('The newest') && all('.need').length === 120")
        .await;
    browser
        .run("scrollTo(0, document.body.scrollHeight); return null")
        .await;
    browser
        .until("all('.need').length === 121 && says('Request 0')")
        .await;
}
