//! The scenes of the demo after the first chain: a transfer, a session, a request, an increment, and what waits for a person.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cli::ui::Failure;
use crate::domain::{Caller, IncrementId, IncrementState, KindRule, RequestState, Task, Tool};
use crate::engine::{Engine, HandoffInput, TaskInput};
use crate::ledger::{increment, tool};

/// The longest time for one scene.
const PATIENCE: Duration = Duration::from_mins(2);

/// Plays all scenes, one after the other.
pub(super) async fn play(engine: &Engine) -> Result<(), Failure> {
    transfer(engine).await?;
    move_session(engine).await?;
    approve_request(engine).await?;
    build_increment(engine).await?;
    leave_work_for_a_person(engine).await
}

/// Writes a value of the API as JSON, as a caller would.
fn value<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).expect("the scenes send legal values")
}

async fn start(
    engine: &Engine,
    description: &str,
    agent: &str,
    prompt: &str,
) -> Result<Task, Failure> {
    let input: TaskInput = value(json!({ "description": description }));
    let task = engine.create_task(input, &Caller::Person, None).await?;
    let input: HandoffInput = value(json!({ "agentName": agent, "prompt": prompt }));
    let started = engine
        .start_handoff(task.id, input, &Caller::Person, None, None)
        .await?;
    Ok(started.task)
}

/// `sales` transfers a question to `pricing`, with context variables.
async fn transfer(engine: &Engine) -> Result<(), Failure> {
    let tool: Tool = value(json!({
        "name": "transfer_to_pricing",
        "description": "Transfer to pricing when somebody asks for a price.",
        "targetAgent": "pricing",
        "contextVariables": [
            { "name": "seats", "type": "number", "required": true, "description": "Number of users" },
            { "name": "region", "type": "string", "required": false, "description": "Where the users are" },
        ],
        "handoffInstructions": "Answer with one price.",
    }));
    engine
        .write(None, move |tx| tool::create(tx, &tool))
        .await?;
    let question = "What do 40 seats cost in the EU?";
    let task = start(engine, question, "sales", question).await?;
    engine.task_when_settled(&task.id, PATIENCE).await?;
    Ok(())
}

/// A conversation of another program moves from `sales` to `pricing`.
async fn move_session(engine: &Engine) -> Result<(), Failure> {
    let body = json!({
        "fromAgent": "sales",
        "toAgent": "pricing",
        "reason": "The customer asks for a discount",
        "userIntent": "Find out whether 40 seats get a discount",
        "conversationHistory": [
            { "role": "user", "content": "We are 40 people. Is there a discount?" },
            { "role": "assistant", "content": "Let me ask our pricing specialist.", "agentId": "sales" },
        ],
    });
    let body = value(body);
    let task = engine
        .move_session("demo-session", body, &Caller::Person, None, None)
        .await?;
    engine.task_when_settled(&task.id, PATIENCE).await?;
    Ok(())
}

/// A request is approved, dispatched to `scribe`, and done. `scribe` writes a mail to the operator.
async fn approve_request(engine: &Engine) -> Result<(), Failure> {
    let rule: KindRule =
        value(json!({ "kind": "docs", "agent": "scribe", "mode": "agent", "rank": 1.0 }));
    engine.set_kind_rules(vec![rule], None).await?;
    let input = value(json!({
        "title": "Document the price list", "body": "One page for customers.", "kind": "docs", "priority": "P1", "effort": "S",
    }));
    let request = engine.create_request(input, &Caller::Person, None).await?;
    engine
        .approve_request(request.id.clone(), &Caller::Operator, None)
        .await?;
    engine
        .request_when(&request.id, RequestState::Done, PATIENCE)
        .await?;
    Ok(())
}

/// An increment whose first test fails is fixed, tested again and verified.
async fn build_increment(engine: &Engine) -> Result<(), Failure> {
    let input = value(json!({
        "title": "Export the price list", "description": "Write prices.csv with one line per product.",
        "testCommand": "test -s prices.csv",
    }));
    let mut events = engine.feed().follow();
    let created = engine
        .create_increment(input, &Caller::Person, None)
        .await?;
    let id = created.increment.id;
    let end = async {
        while !has_ended(engine, &id).await? {
            // Missed events do not matter: the next round reads the increment again.
            let _ = events.recv().await;
        }
        Ok(())
    };
    tokio::time::timeout(PATIENCE, end).await.unwrap_or(Ok(()))
}

async fn has_ended(engine: &Engine, id: &IncrementId) -> Result<bool, Failure> {
    let id = id.clone();
    let found = engine.read(move |view| increment::get(view, &id)).await?;
    Ok(found.increment.state != IncrementState::Active)
}

/// Leaves a request to approve, an alert, and a run that fails.
async fn leave_work_for_a_person(engine: &Engine) -> Result<(), Failure> {
    let input = value(json!({
        "title": "Translate the price list", "body": "Into French and Polish.", "kind": "docs", "priority": "P2", "effort": "M",
    }));
    engine.create_request(input, &Caller::Person, None).await?;
    let alert = value(json!({ "message": "The certificate of the shop expires in 3 days" }));
    engine.raise_alert(alert, &Caller::Person, None).await?;
    let task = start(engine, "Publish the price list", "publisher", "Publish it.").await?;
    engine.task_when_idle(&task.id, PATIENCE).await?;
    let later: TaskInput =
        value(json!({ "description": "Compare our prices with those of last year" }));
    engine.create_task(later, &Caller::Person, None).await?;
    Ok(())
}
