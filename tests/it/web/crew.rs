//! Agents, increments, mail, sessions and figures on the page

use reqwest::Method;
use serde_json::json;

use crate::support::{Browser, ENTER, Sandbox};

use super::flows::{call, create_task, get, hand_off};

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_added_switched_off_edited_and_deleted() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let server = sandbox.serve(0);
    browser.open_as_operator(&server, "/agents").await;
    browser.press("Add an agent").await;
    browser.fill("Name", "poet").await;
    browser.fill("Provider", "Command").await;
    browser.fill("Program", "no-such-program").await;
    browser.fill("Spec", "nowhere.md").await;
    browser.fill("Roles", "writing").await;
    browser.press("Add").await;
    browser
        .until("document.activeElement.name === 'specPath' && document.querySelector('dialog .error').textContent.includes('nowhere.md')")
        .await;
    let spec = server.data_dir.join("nowhere.md");
    std::fs::write(&spec, "# Poet\n\nWrite **haiku**.").unwrap();
    browser.press("Add").await;
    browser.until("location.pathname === '/agents/poet'").await;
    browser.until_says("program missing").await;
    // The spec is rendered.
    browser
        .until("all('main strong').some((one) => one.textContent === 'haiku')")
        .await;
    let poet = get(&server, "/api/agents/poet").await;
    assert_eq!(poet["roles"], json!(["writing"]));
    assert_eq!(poet["program"], "no-such-program");

    browser.press("poet is available").await;
    browser.until_says("Not available").await;
    assert_eq!(
        get(&server, "/api/agents/poet").await["available"],
        json!(false)
    );
    browser.press("Edit").await;
    browser.fill("Skills", "haiku c++").await;
    browser.press("Save").await;
    browser.until_says("c++").await;
    let poet = get(&server, "/api/agents/poet").await;
    assert_eq!(poet["skills"], json!(["haiku", "c++"]));
    assert_eq!(poet["available"], json!(false));

    browser.press("Delete…").await;
    browser
        .click("document.querySelector('dialog[open] .button.danger')")
        .await;
    browser.until("location.pathname === '/agents'").await;
    browser
        .until("document.querySelector('table') && !all('td').some((cell) => cell.textContent.includes('poet'))")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_show_what_they_work_on_and_how_it_went() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("end");
    let script = format!("read line <{}; echo done", gate.path().display());
    let sandbox = sandbox.with_agent("writer", &script);
    let server = sandbox.serve(2);
    browser
        .open_as_operator(&server, "/agents?text=writer")
        .await;
    browser.until_says("nothing").await;
    let task = create_task(&server, "Write the page").await;
    hand_off(&server, &task, "writer").await;
    browser
        .until("text('tbody td:nth-child(3)') === 'Write the page'")
        .await;
    gate.let_one_through();
    browser
        .until("text('tbody td:nth-child(3)') === 'nothing' && text('tbody td:nth-child(4)').startsWith('100 % of 1')")
        .await;
    browser.open_as_operator(&server, "/figures").await;
    browser
        .until("text('.tile:nth-child(1) dd') === '1' && text('.tile:nth-child(2) dd') === '100 %'")
        .await;
    // A bar of today, a field of the matrix, and the numbers below.
    browser
        .until("document.querySelectorAll('.chart-bar.good').length === 1 && document.querySelectorAll('.chart-field.filled').length === 1")
        .await;
    browser
        .until("all('[aria-label=\"Hand-offs per pair\"] tbody tr').length === 1")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_increment_is_created_drawn_round_by_round_and_retried() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new();
    // The first test fails, the second asks, the third passes.
    let tests = "n=$(cat ../tests 2>/dev/null || echo 0); echo $((n + 1)) >../tests; case $n in
        0) chorus task report failed --summary 'No dates in main.rs' ;;
        1) chorus task report blocked --summary 'Which time zone?' ;;
        *) chorus task report passed --summary 'All pass' ;; esac";
    let sandbox = sandbox
        .with_specialist("ada", "implementation", &[], "echo 'Wrote main.rs'")
        .with_specialist("fay", "fixing", &[], "echo 'Added dates'")
        .with_specialist("tess", "testing", &[], tests)
        .with_specialist(
            "vera",
            "verification",
            &[],
            "chorus task report passed --summary 'It is what was asked'",
        );
    let server = sandbox.serve(4);
    browser.open_as_operator(&server, "/increments").await;
    browser.until_says("No increments yet").await;
    browser.press("New increment").await;
    browser.fill("Title", "Read dates").await;
    browser.fill("Test command", "grep dates main.rs").await;
    browser.press("Create").await;
    browser.until_says("Which time zone?").await;
    browser.until("all('.round').length === 2").await;
    browser
        .until("all('.round')[0].textContent.includes('No dates in main.rs') && all('.round')[1].querySelector('.stage.bad')")
        .await;
    browser.press("Retry").await;
    browser
        .until("all('.stage.bad').length === 1 && all('.stage.good').length === 4")
        .await;
    // The reports appear by themselves.
    browser.until_says("It is what was asked").await;
    browser.until("text('.subtitle').startsWith('done')").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_is_read_acknowledged_answered_and_written() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new().with_agent("ada", "true");
    let server = sandbox.serve(0);
    let mail = json!({ "from": "ada", "to": ["operator"], "subject": "Which database?", "body": "1. SQLite\n2. Postgres", "ackRequired": true });
    browser.open_as_operator(&server, "/mail").await;
    browser.until_says("No mail").await;
    let sent = call(&server, Method::POST, "/api/mail", &mail).await;
    browser
        .until("document.querySelector('.need.unread')")
        .await;
    // Enter presses the button that has the focus, and opens nothing.
    browser.keys("j").await;
    browser.tab_to("Acknowledge").await;
    browser.keys(ENTER).await;
    browser
        .until("says('acknowledged') && !document.querySelector('.need.unread')")
        .await;
    browser.press("Which database?").await;
    browser.until("all('.letter ol li').length >= 2").await;
    browser.press("Answer…").await;
    browser.fill("Text", "SQLite, please.").await;
    browser.press("Send").await;
    browser
        .until("all('.letter').length === 2 && says('SQLite, please.')")
        .await;
    let thread = sent["threadId"].as_str().unwrap();
    let all = get(&server, &format!("/api/mail?thread={thread}")).await;
    assert_eq!(all[1]["to"], json!(["ada"]));
    assert_eq!(all[1]["subject"], "Re: Which database?");
    assert_eq!(all[1]["from"], "operator");

    browser
        .open_as_operator(&server, "/mail?box=ada&show=unread")
        .await;
    browser.until_says("Re: Which database?").await;
    browser.press("Write mail").await;
    browser.fill("To", "nobody").await;
    browser.fill("Subject", "Hello").await;
    browser.press("Send").await;
    browser
        .until("document.querySelector('dialog .error').textContent.includes('nobody')")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_shows_its_moves_the_last_one_and_counts() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new()
        .with_agent("triage", "true")
        .with_agent("sales", "true");
    let server = sandbox.serve(0);
    let move_to = async |from: &str, to: &str| {
        let body = json!({ "fromAgent": from, "toAgent": to, "reason": format!("For {to}"), "userIntent": "Choose a plan", "invoke": false,
            "conversationHistory": [{ "role": "user", "content": "Which **plan**?" }] });
        call(&server, Method::POST, "/api/sessions/s-1/handoffs", &body).await;
    };
    browser.open_as_operator(&server, "/sessions").await;
    browser.until_says("No sessions yet").await;
    move_to("triage", "sales").await;
    browser.press("s-1").await;
    browser.until("all('.life > li').length === 1").await;
    move_to("sales", "triage").await;
    move_to("triage", "sales").await;
    browser
        .until("all('.life > li').length === 3 && says('3 moves')")
        .await;
    browser.press("The conversation that moved").await;
    browser.until("text('.said strong') === 'user'").await;
    browser.fill("From", "triage").await;
    browser.keys(ENTER).await;
    browser.until_says("2 moves").await;
    assert_eq!(browser.run("return location.search").await, "?from=triage");
}
