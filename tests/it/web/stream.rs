//! An open page when the server stops, starts and changes, in a real browser

use crate::support::{Browser, Sandbox, Server, reserve_port};

use super::flows::create_task;

#[tokio::test(flavor = "multi_thread")]
async fn an_open_page_survives_a_killed_server() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let port = reserve_port();
    let serve = || sandbox.serve_with(0, &["--port", &port]);
    let server = serve();
    create_task(&server, "Before the crash").await;
    browser.open_as_operator(&server, "/board").await;
    browser.until_says("Before the crash").await;
    browser.until_says("Live").await;
    browser.run("window.isTheSamePage = true").await;
    server.kill();
    browser.until_says("Server not responding").await;
    assert_eq!(
        browser.run("return says('Before the crash')").await,
        true,
        "what was there stays"
    );
    let server = serve();
    create_task(&server, "After the crash").await;
    browser.until_says("After the crash").await;
    browser.until_says("Live").await;
    assert_eq!(browser.run("return window.isTheSamePage").await, true);
    // The stream goes on, and so does the sign-in.
    create_task(&server, "Much later").await;
    browser.until_says("Much later").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_is_done_once_when_the_server_stops_before_its_answer() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let port = reserve_port();
    let serve = || sandbox.serve_with(0, &["--port", &port]);
    let server = serve();
    browser.open_as_operator(&server, "/board").await;
    browser.until_says("No tasks yet").await;
    // The first answer is lost after the server has carried out the request.
    browser
        .run(
            "const real = window.fetch; let lost = false;
             window.fetch = async (path, options) => {
                 const response = await real(path, options);
                 if (options?.method === 'POST' && !lost) { lost = true; throw new TypeError('the connection is gone'); }
                 return response;
             };",
        )
        .await;
    browser.press("Create a task").await;
    browser.fill("Description", "Only once").await;
    browser.press("Create").await;
    browser.until_says("Task created").await;
    let tasks = super::flows::get(&server, "/api/tasks").await;
    assert_eq!(tasks.as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_version_offers_to_reload() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let port = reserve_port();
    let server = sandbox.serve_with(0, &["--port", &port]);
    browser.open_as_operator(&server, "/board").await;
    browser.until_says("No tasks yet").await;
    server.kill();
    browser.until_says("Server not responding").await;
    let assets = concat!(env!("CARGO_MANIFEST_DIR"), "/src/web/assets");
    let server: Server = sandbox.serve_with(0, &["--port", &port, "--web-dir", assets]);
    browser
        .until_says("The server has a new version of this page")
        .await;
    browser.press("Reload").await;
    browser
        .until("document.querySelector('meta[name=chorus-assets]')?.content === 'folder' && says('No tasks yet')")
        .await;
    // The sign-in outlives the reload.
    assert_eq!(browser.run("return says('Sign in')").await, false);
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_slept_is_right_when_it_wakes() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve(0);
    browser.open_as_operator(&server, "/board").await;
    browser.until_says("No tasks yet").await;
    // A suspended machine: no byte arrives, and the clock has moved on by a night.
    browser
        .run(
            "window.realFetch = window.fetch;
             window.fetch = (path, options) => new Promise((resolve, reject) => { options?.signal?.addEventListener('abort', () => reject(new Error('aborted'))); });
             const now = Date.now; window.night = 0; Date.now = () => now() + window.night;
             window.dispatchEvent(new Event('online'));",
        )
        .await;
    browser.until_says("Server not responding").await;
    for number in 0..20 {
        create_task(&server, &format!("In the night {number}")).await;
    }
    browser
        .run("window.night = 8 * 60 * 60 * 1000; window.fetch = window.realFetch; window.dispatchEvent(new Event('online'));")
        .await;
    browser.until_says("In the night 19").await;
    browser.until_says("Live").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_was_left_has_no_stream_and_catches_up_on_the_way_back() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve(0);
    browser.open_as_operator(&server, "/board").await;
    browser.until_says("No tasks yet").await;
    browser.until_says("Live").await;
    let turn = |name: &str| {
        format!(
            "dispatchEvent(new PageTransitionEvent('{name}', {{ persisted: true }})); return null"
        )
    };
    browser
        .run(
            "const real = window.fetch; window.streams = 0;
             window.fetch = (path, options) => { if (String(path).startsWith('/api/events')) window.streams += 1; return real(path, options); };",
        )
        .await;
    browser.run(&turn("pagehide")).await;
    browser.until_says("Server not responding").await;
    create_task(&server, "While away").await;
    // A lost stream would be opened again within this time.
    let streams =
        "await new Promise((resolve) => setTimeout(resolve, 1000)); return window.streams";
    assert_eq!(browser.run_async(streams).await, 0);
    browser.run(&turn("pageshow")).await;
    browser.until_says("While away").await;
    browser.until_says("Live").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_through_many_addresses_leaves_connections_for_the_last_one() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve(0);
    create_task(&server, "Still here").await;
    // A browser keeps the pages for the way back; six streams of theirs would be all connections that it allows.
    for path in [
        "/needs",
        "/chat",
        "/tools",
        "/mail",
        "/sessions",
        "/agents",
        "/requests",
        "/board",
    ] {
        browser.open_as_operator(&server, path).await;
        browser.until_says("Live").await;
    }
    browser.until_says("Still here").await;
}
