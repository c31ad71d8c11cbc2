//! `chorus demo`: a chain of hand-offs with scripted agents. Needs no agent program and no key.

mod agent;
mod show;

use std::path::PathBuf;

pub(super) use agent::run as run_agent;

use super::arguments::{DemoArguments, ServeArguments};
use super::serve::Serving;
use super::ui::{Failure, Ui};
use crate::config::DataDir;
use crate::domain::{Agent, AgentName, Caller, OutputForm, Provider, Text};
use crate::engine::{Engine, HandoffInput, TaskInput};

const TASK: &str =
    "Write a haiku about ledgers into haiku.txt: three lines of 5, 7 and 5 syllables";

/// The agents, in the order of their first hand-offs.
const CAST: [&str; 5] = [
    "orchestrator",
    "planner",
    "developer",
    "developer-review",
    "qa",
];

pub(super) async fn run(ui: Ui, arguments: DemoArguments) -> Result<(), Failure> {
    let folder = match arguments.data_dir {
        Some(folder) => folder,
        None => temporary_folder()?,
    };
    let data_dir = DataDir::prepare(&folder)?;
    if data_dir.database().exists() {
        return Err(Failure::new(format!(
            "{} already has a database; choose another --data-dir for the demo",
            folder.display()
        )));
    }
    let serve = ServeArguments::for_demo(folder, arguments.port);
    let serving = Serving::start(ui, serve, cast(arguments.pace)?, Vec::new()).await?;
    ui.line("")?;
    let shown = show::Show::begin(ui, &serving.engine);
    let result = play(&serving.engine).await;
    shown.end().await;
    let task = result?;
    print_hints(ui, &serving, &task, arguments.once)?;
    if arguments.once {
        serving.engine.stopping().cancel();
    } else {
        ui.line("\nThe server is still running. Press Ctrl-C to stop it.")?;
    }
    serving.until_stopped().await;
    Ok(())
}

fn temporary_folder() -> Result<PathBuf, Failure> {
    let folder = tempfile::Builder::new().prefix("chorus-demo-").tempdir();
    folder
        .map(tempfile::TempDir::keep)
        .map_err(|error| Failure::new(format!("cannot create a temporary directory: {error}")))
}

/// Returns the scripted agents, all of which run this program.
fn cast(pace: u64) -> Result<Vec<Agent>, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    let text = |text: &str| text.parse::<Text>().expect("has no NUL");
    let agent = |name: &str| Agent {
        available: true,
        name: AgentName::parse(name).expect("the cast has legal names"),
        spec_path: text(&format!("agents/{name}.md")),
        allowed_tools: text("Read Edit"),
        permission_mode: text("bypassPermissions"),
        provider: Provider::Command,
        model: None,
        program: Some(Text::lossy(program.to_string_lossy().into_owned())),
        arguments: vec![text("demo-agent")],
        environment: [(text("DEMO_PACE"), text(&pace.to_string()))].into(),
        output_form: OutputForm::JsonField("final".to_owned()),
        max_seconds: Some(120),
        idle_seconds: None,
        roles: Vec::new(),
        skills: Vec::new(),
        max_session_duration: None,
        responsibilities: Text::default(),
        isolation: None,
    };
    Ok(CAST.map(agent).into())
}

/// Creates the task and hands it to the orchestrator, which does the rest.
async fn play(engine: &Engine) -> Result<crate::domain::Task, Failure> {
    let text = |text: &str| text.parse::<Text>().expect("has no NUL");
    let input = TaskInput {
        description: text(TASK),
        ..TaskInput::default()
    };
    let task = engine.create_task(input, &Caller::Person, None).await?;
    let input = HandoffInput {
        agent_name: text("orchestrator"),
        prompt: text("Complete this task."),
        ..HandoffInput::default()
    };
    let task = engine
        .start_handoff(task.id, input, &Caller::Person, None, None)
        .await?;
    let minute = std::time::Duration::from_mins(2);
    Ok(engine.task_when_idle(&task.id, minute).await?)
}

/// Prints the result and the commands that show more. Those that need a server are left out if it stops.
fn print_hints(
    ui: Ui,
    serving: &Serving,
    task: &crate::domain::Task,
    stops: bool,
) -> Result<(), Failure> {
    let handoff = task
        .agent_chain()
        .last()
        .ok_or_else(|| Failure::new("the task was not handed off"))?;
    let output = handoff.end.as_ref().map_or("", |end| end.output.as_str());
    ui.line(format_args!(
        "\nFinal message of the orchestrator:\n\n{output}\n\nLook around:"
    ))?;
    let hint = |what: &str, how: String| ui.line(format_args!("  {what:<16} {how}"));
    let (url, data) = (&serving.url, serving.data_dir.path().display());
    let task = &task.id;
    if stops {
        hint("server", format!("chorus serve --data-dir {data}"))?;
    } else {
        hint("agents", format!("chorus task tree {task} --url {url}"))?;
        hint(
            "conversation",
            format!("chorus task conversation {task} --url {url}"),
        )?;
        hint(
            "agent's output",
            format!("chorus log {} --url {url}", handoff.id),
        )?;
        hint(
            "history",
            format!("curl -s {url}/api/tasks/{task}/history | jq -c '.data.events[]'"),
        )?;
    }
    hint(
        "database",
        format!("sqlite3 -readonly -box {data}/chorus.db 'select * from chain'"),
    )
}
