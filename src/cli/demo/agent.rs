//! The scripted agents of the demo: this program, started as an agent.
//!
//! It prints its steps as lines of text; the field `final` of the last line, which is JSON, is the final message. The work is real: the
//! orchestrator hands off through the API with the token of its own run, the developer writes a file, the others read it.

use std::path::Path;

use serde_json::{Map, Value};

use crate::api::MailInput;
use crate::cli::handoff::hand_off;
use crate::cli::server;
use crate::cli::ui::{Failure, Ui};
use crate::client::Client;
use crate::words::counted;

/// The middle line is too short.
const FIRST_DRAFT: &str = "Ink dries, entries stay\nnothing is lost\nthe book remembers\n";

const SECOND_DRAFT: &str =
    "Ink dries, entries stay\nwho asked whom, and what was said\nthe book remembers\n";

const FILE: &str = "haiku.txt";

/// The beginning of a message that is a step, not the result.
pub(super) const STEP: &str = "… ";

pub(in crate::cli) async fn run(ui: Ui) -> Result<(), Failure> {
    let agent = variable("CHORUS_AGENT")?;
    let prompt = std::io::read_to_string(std::io::stdin())
        .map_err(|error| Failure::new(error.to_string()))?;
    let asked = prompt
        .rsplit("# Your assignment")
        .next()
        .unwrap_or_default();
    let message = match agent.as_str() {
        "orchestrator" => orchestrate(ui).await?,
        "planner" => plan(ui)?,
        "developer" => develop(ui, asked.contains("CHANGES REQUESTED"))?,
        "developer-review" => review(ui)?,
        "qa" => test(ui)?,
        "sales" => sell(ui).await?,
        "pricing" => price(ui)?,
        "scribe" => document(ui).await?,
        "implementer" => implement(ui)?,
        "tester" => test_increment(ui)?,
        "fixer" => fix(ui)?,
        "verifier" => verify(ui)?,
        "publisher" => {
            say(ui, "looks for the shop")?;
            return Err(Failure::new("the shop does not answer"));
        }
        other => return Err(Failure::new(format!("the demo has no agent {other}"))),
    };
    ui.line(Value::from_iter([("final", message)]))
}

fn variable(name: &str) -> Result<String, Failure> {
    std::env::var(name).map_err(|_| {
        Failure::new(format!(
            "{name} is not set: only `chorus demo` starts this command"
        ))
    })
}

/// Prints a step, and pauses.
fn say(ui: Ui, text: &str) -> Result<(), Failure> {
    ui.line(format_args!("{STEP}{text}"))?;
    let pace = variable("DEMO_PACE")?
        .parse()
        .map_err(|_| Failure::new("DEMO_PACE is not a number"))?;
    std::thread::sleep(std::time::Duration::from_millis(pace));
    Ok(())
}

/// Hands off to the planner, then to developer and reviewer in turn until the work is approved, then to QA.
async fn orchestrate(ui: Ui) -> Result<String, Failure> {
    let client = client()?;
    let task = variable("CHORUS_TASK_ID")?;
    let ask = async |agent: &str, prompt: String| -> Result<String, Failure> {
        say(ui, &format!("asks {agent}"))?;
        hand_off(ui, &client, &task, agent, prompt).await
    };
    let plan = ask("planner", "Plan it.".to_owned()).await?;
    let mut work = format!("Do this:\n{plan}");
    for round in 1..=5 {
        ask("developer", work).await?;
        let review = ask("developer-review", format!("Review round {round}.")).await?;
        if review.starts_with("APPROVED") {
            let tested = ask("qa", "Test it.".to_owned()).await?;
            return Ok(format!(
                "Done after {}. Review: {review} QA: {tested}",
                counted(round, "round")
            ));
        }
        work = format!("The review says:\n{review}");
    }
    Err(Failure::new("the work was not approved in 5 rounds"))
}

fn plan(ui: Ui) -> Result<String, Failure> {
    say(ui, "reads the task")?;
    Ok(format!(
        "1. Write three lines into {FILE}.\n2. Count the syllables: 5, 7, 5."
    ))
}

fn develop(ui: Ui, is_second: bool) -> Result<String, Failure> {
    say(ui, &format!("writes {FILE}"))?;
    let draft = if is_second { SECOND_DRAFT } else { FIRST_DRAFT };
    write(FILE, draft)?;
    Ok(format!("Wrote {FILE}: {draft}"))
}

fn read() -> Result<String, Failure> {
    std::fs::read_to_string(FILE)
        .map_err(|error| Failure::new(format!("cannot read {FILE}: {error}")))
}

fn review(ui: Ui) -> Result<String, Failure> {
    say(ui, "counts the syllables")?;
    let haiku = read()?;
    let middle = haiku.lines().nth(1).unwrap_or_default();
    // Counting the words of the middle line is enough for a scripted reviewer.
    if middle.split_whitespace().count() < 5 {
        Ok(format!(
            "CHANGES REQUESTED: the second line, {middle:?}, is too short for seven syllables."
        ))
    } else {
        Ok("APPROVED: 5, 7 and 5 syllables.".to_owned())
    }
}

fn test(ui: Ui) -> Result<String, Failure> {
    say(ui, &format!("opens {FILE}"))?;
    match read()?.lines().count() {
        3 => Ok("PASSED: three lines, as asked.".to_owned()),
        lines => Ok(format!("FAILED: {lines} lines instead of three.")),
    }
}

/// A client with the token of the agent's run.
fn client() -> Result<Client, Failure> {
    server::client(Some(&variable("CHORUS_URL")?), Path::new("."))
}

/// Transfers the question to `pricing`.
async fn sell(ui: Ui) -> Result<String, Failure> {
    say(ui, "reads the question")?;
    let variables = Map::from_iter([
        ("seats".to_owned(), Value::from(40)),
        ("region".to_owned(), Value::from("EU")),
    ]);
    let task = variable("CHORUS_TASK_ID")?;
    client()?
        .tasks()
        .call_tool(&task, "transfer_to_pricing", &variables)
        .await?;
    Ok("Transferred to pricing.".to_owned())
}

fn price(ui: Ui) -> Result<String, Failure> {
    say(ui, "looks up the price")?;
    Ok(
        "40 seats in the EU cost 1,200 EUR a month, with the discount of 10 % for teams."
            .to_owned(),
    )
}

const MAIL: &str = r#"{ "to": ["operator"], "subject": "The price list is ready to read", "body": "See prices.md. Please say whether the discount is right.", "ackRequired": true }"#;

/// Writes the page, and a mail about it to the operator.
async fn document(ui: Ui) -> Result<String, Failure> {
    say(ui, "writes prices.md")?;
    write("prices.md", "# Prices\n\n40 seats: 1,200 EUR a month.\n")?;
    let mail: MailInput =
        serde_json::from_str(MAIL).map_err(|error| Failure::new(error.to_string()))?;
    client()?.mail().send(&mail).await?;
    Ok("Wrote prices.md, and asked the operator to read it.".to_owned())
}

const EXPORT: &str = "prices.csv";

fn implement(ui: Ui) -> Result<String, Failure> {
    say(ui, &format!("creates {EXPORT}"))?;
    write(EXPORT, "")?;
    Ok(report("passed", &format!("Created {EXPORT}")))
}

fn test_increment(ui: Ui) -> Result<String, Failure> {
    say(ui, &format!("runs test -s {EXPORT}"))?;
    let is_written = std::fs::metadata(EXPORT).is_ok_and(|file| file.len() > 0);
    Ok(if is_written {
        report("passed", &format!("{EXPORT} has its lines"))
    } else {
        report("failed", &format!("{EXPORT} is empty"))
    })
}

fn fix(ui: Ui) -> Result<String, Failure> {
    say(ui, &format!("writes the lines of {EXPORT}"))?;
    write(EXPORT, "product,price\nseat,30\n")?;
    Ok(report("passed", &format!("{EXPORT} has two lines now")))
}

fn verify(ui: Ui) -> Result<String, Failure> {
    say(ui, "reads the description again")?;
    Ok(report("passed", "One line per product, as described"))
}

/// Returns a final message that ends with a report.
fn report(result: &str, summary: &str) -> String {
    format!(
        "{summary}.\n\n{}",
        Value::from_iter([("result", result), ("summary", summary)])
    )
}

fn write(file: &str, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text)
        .map_err(|error| Failure::new(format!("cannot write {file}: {error}")))
}
