//! The scenes of the demo after the first chain: a transfer, a session, a request, an increment, and what waits for a person.

use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::broadcast::error::RecvError;

use crate::cli::ui::Failure;
use crate::domain::{
    Caller, IncrementId, IncrementState, KindRule, RequestState, Task, Text, Tool,
};
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

/// Reads an input of the API, as a caller would write it.
fn input<T: DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json).expect("the scenes send legal inputs")
}

fn text(text: &str) -> Text {
    Text::lossy(text.to_owned())
}

async fn start(
    engine: &Engine,
    description: &str,
    agent: &str,
    prompt: &str,
) -> Result<Task, Failure> {
    let task = create_task(engine, description).await?;
    let handoff = HandoffInput {
        agent_name: text(agent),
        prompt: text(prompt),
        ..HandoffInput::default()
    };
    let started = engine
        .start_handoff(task.id, handoff, &Caller::Person, None, None)
        .await?;
    Ok(started.task)
}

async fn create_task(engine: &Engine, description: &str) -> Result<Task, Failure> {
    let new = TaskInput {
        description: text(description),
        ..TaskInput::default()
    };
    Ok(engine.create_task(new, &Caller::Person, None).await?)
}

/// `sales` transfers a question to `pricing`, with context variables.
async fn transfer(engine: &Engine) -> Result<(), Failure> {
    let tool: Tool = input(
        r#"{
            "name": "transfer_to_pricing",
            "description": "Transfer to pricing when somebody asks for a price.",
            "targetAgent": "pricing",
            "contextVariables": [
                { "name": "seats", "type": "number", "required": true, "description": "Number of users" },
                { "name": "region", "type": "string", "required": false, "description": "Where the users are" }
            ],
            "handoffInstructions": "Answer with one price."
        }"#,
    );
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
    let body = input(
        r#"{
        "fromAgent": "sales",
        "toAgent": "pricing",
        "reason": "The customer asks for a discount",
        "userIntent": "Find out whether 40 seats get a discount",
        "conversationHistory": [
            { "role": "user", "content": "We are 40 people. Is there a discount?" },
            { "role": "assistant", "content": "Let me ask our pricing specialist.", "agentId": "sales" }
        ]
    }"#,
    );
    let task = engine
        .move_session("demo-session", body, &Caller::Person, None, None)
        .await?;
    engine.task_when_settled(&task.id, PATIENCE).await?;
    Ok(())
}

/// A request is approved, dispatched to `scribe`, and done. `scribe` writes a mail to the operator.
async fn approve_request(engine: &Engine) -> Result<(), Failure> {
    let rule: KindRule =
        input(r#"{ "kind": "docs", "agent": "scribe", "mode": "agent", "rank": 1.0 }"#);
    engine.set_kind_rules(vec![rule], None).await?;
    let new = input(
        r#"{ "title": "Document the price list", "body": "One page for customers.", "kind": "docs", "priority": "P1", "effort": "S" }"#,
    );
    let request = engine.create_request(new, &Caller::Person, None).await?;
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
    let new = input(
        r#"{ "title": "Export the price list", "description": "Write prices.csv with one line per product.", "testCommand": "test -s prices.csv" }"#,
    );
    let mut events = engine.feed().follow();
    let created = engine.create_increment(new, &Caller::Person, None).await?;
    let id = created.increment.id;
    let end = async {
        while !has_ended(engine, &id).await? {
            // Missed events do not matter: the next round reads the increment again.
            if let Err(RecvError::Closed) = events.recv().await {
                break;
            }
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
    let new = input(
        r#"{ "title": "Translate the price list", "body": "Into French and Polish.", "kind": "docs", "priority": "P2", "effort": "M" }"#,
    );
    engine.create_request(new, &Caller::Person, None).await?;
    let alert = input(r#"{ "message": "The certificate of the shop expires in 3 days" }"#);
    engine.raise_alert(alert, &Caller::Person, None).await?;
    let task = start(engine, "Publish the price list", "publisher", "Publish it.").await?;
    engine.task_when_idle(&task.id, PATIENCE).await?;
    create_task(engine, "Compare our prices with those of last year").await?;
    Ok(())
}
