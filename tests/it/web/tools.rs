//! Tools are made and changed on the page

use reqwest::Method;
use serde_json::json;

use crate::support::{Browser, Sandbox};

use super::flows::{call, create_task, get, hand_off};

/// The names of the variables in the builder, in their order.
const NAMES: &str = "all('.variable input.mono').map((input) => input.value).join()";

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_with_two_variables_is_made_on_the_page_and_called_by_an_agent() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new()
        .with_agent(
            "triage",
            "chorus tool call handoff_to_sales --var lead_id=L-77 --var budget=5000",
        )
        .with_agent("sales", "echo 'Good morning'");
    let server = sandbox.serve(4);
    browser.open_as_operator(&server, "/tools").await;
    browser.until_says("No tools yet").await;
    browser.press("New tool").await;
    browser.fill("Name", "handoff_to_sales").await;
    browser.fill("Passes control to", "sales").await;
    browser
        .fill("When to use it", "For qualified leads <b>only</b>")
        .await;
    for (place, name, kind) in [(1, "budget", "number"), (2, "lead_id", "string")] {
        browser.press("Add a variable").await;
        browser
            .fill(&format!("Name of variable {place}"), name)
            .await;
        browser
            .fill(&format!("Type of variable {place}"), kind)
            .await;
        browser
            .fill(
                &format!("Description of variable {place}"),
                &format!("The {name}"),
            )
            .await;
    }
    browser.press("Move variable 2 up").await;
    browser
        .until(&format!("{NAMES} === 'lead_id,budget'"))
        .await;
    browser
        .click("all('.variable')[1].querySelector('[type=checkbox]')")
        .await;
    let shown = browser
        .until("JSON.parse(text('[data-preview]')).function.parameters.required.join() === 'lead_id' && JSON.parse(text('[data-preview]'))")
        .await;
    browser.press("Create").await;
    browser
        .until("location.pathname === '/tools/handoff_to_sales'")
        .await;
    // The preview is the definition that the server gives to agents.
    let given = get(&server, "/api/agents/triage/tools").await;
    assert_eq!(given, json!([shown]));

    let task = create_task(&server, "A lead").await;
    hand_off(&server, &task, "triage").await;
    let tree = get(
        &server,
        &format!("/api/tasks/{task}?wait=settled&timeout=60"),
    )
    .await;
    assert_eq!(tree["agentChain"][0]["outcome"], "completed");

    browser.press("Remove variable 2").await;
    browser.press("Save").await;
    browser.until_says("handoff_to_sales saved").await;
    let tool = get(&server, "/api/tools/handoff_to_sales").await;
    assert_eq!(tool["contextVariables"].as_array().unwrap().len(), 1);
    browser.press("Delete…").await;
    browser
        .click("document.querySelector('dialog[open] .button.danger')")
        .await;
    browser.until_says("No tools yet").await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_tool_stands_at_its_field() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new().with_agent("sales", "true");
    let server = sandbox.serve(0);
    browser.open_as_operator(&server, "/tools/new-tool").await;
    browser.fill("Name", "fine").await;
    browser.fill("Passes control to", "sales").await;
    browser.fill("When to use it", " ").await;
    for name in ["good", "1st", "good"] {
        browser.press("Add a variable").await;
        browser.until("document.activeElement.matches('.variable input.mono') && document.activeElement.value === ''").await;
        browser.keys(name).await;
    }
    browser.press("Create").await;
    browser
        .until("all('[aria-invalid=true]').map((one) => one.name).join() === 'description,contextVariables[1].name,contextVariables[2].name'")
        .await;
    // The focus is on the first wrong field, whose message a screen reader finds.
    browser
        .until("document.activeElement.name === 'description'")
        .await;
    browser
        .until("document.getElementById(all('[aria-invalid=true]')[2].getAttribute('aria-describedby')).textContent.includes('listed twice')")
        .await;
    assert_eq!(get(&server, "/api/tools").await, json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_somebody_else_changes_does_not_lose_what_one_types() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let sandbox = Sandbox::new().with_agent("sales", "true");
    let server = sandbox.serve(0);
    let tool = |description: &str| json!({ "name": "to_sales", "description": description, "targetAgent": "sales" });
    call(&server, Method::POST, "/api/tools", &tool("First")).await;
    browser.open_as_operator(&server, "/tools/to_sales").await;
    browser
        .until("field('When to use it').value === 'First'")
        .await;
    let path = "/api/tools/to_sales";
    call(&server, Method::PUT, path, &tool("Second")).await;
    browser
        .until("field('When to use it').value === 'Second'")
        .await;
    browser.fill("When to use it", ", mine").await;
    call(&server, Method::PUT, path, &tool("Third")).await;
    browser
        .until_says("Somebody else has changed this tool")
        .await;
    browser
        .until("field('When to use it').value === 'Second, mine'")
        .await;
    browser.press("Keep mine").await;
    browser.press("Save").await;
    browser.until_says("to_sales saved").await;
    assert_eq!(get(&server, path).await["description"], "Second, mine");
}
