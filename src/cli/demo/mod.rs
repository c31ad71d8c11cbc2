//! `chorus demo`: hand-offs of every kind with scripted agents. Needs no agent program and no key.

mod agent;
mod scenes;
mod show;

use tempfile::TempDir;

pub(super) use agent::run as run_agent;

use super::arguments::{DemoArguments, ServeArguments};
use super::operator;
use super::serve::Serving;
use super::ui::{Failure, Ui};
use crate::config::DataDir;
use crate::domain::{Agent, AgentName, Caller, ChainEntry, OutputForm, Provider, Role, Task, Text};
use crate::engine::{Engine, HandoffInput, TaskInput};
use crate::secret::Token;

const TASK: &str =
    "Write a haiku about ledgers into haiku.txt: three lines of 5, 7 and 5 syllables";

/// The agents in the order of their first hand-offs. Those without a spec have one in this program.
const CAST: [Member; 13] = [
    member("orchestrator", None, None),
    member("planner", None, None),
    member("developer", None, None),
    member("developer-review", None, None),
    member("qa", None, None),
    member(
        "sales",
        None,
        Some("You answer customers, and transfer questions about prices."),
    ),
    member(
        "pricing",
        None,
        Some("You know the price list, and answer with one price."),
    ),
    member(
        "scribe",
        None,
        Some("You write documentation, and ask the operator to read it."),
    ),
    member(
        "implementer",
        Some("implementation"),
        Some("You write the first version."),
    ),
    member(
        "tester",
        Some("testing"),
        Some("You run the test command, and report what it says."),
    ),
    member(
        "fixer",
        Some("fixing"),
        Some("You fix what the last test has found."),
    ),
    member(
        "verifier",
        Some("verification"),
        Some("You compare the result with the description."),
    ),
    member(
        "publisher",
        None,
        Some("You publish documents in the shop."),
    ),
];

/// An agent of the demo.
#[derive(Clone, Copy)]
struct Member {
    name: &'static str,
    /// The role in increments.
    role: Option<&'static str>,
    spec: Option<&'static str>,
}

const fn member(
    name: &'static str,
    role: Option<&'static str>,
    spec: Option<&'static str>,
) -> Member {
    Member { name, role, spec }
}

impl Member {
    fn spec_path(self) -> String {
        format!("agents/{}.md", self.name)
    }
}

pub(super) async fn run(ui: Ui, arguments: DemoArguments) -> Result<(), Failure> {
    // Is deleted at the end.
    let temporary = match arguments.data_dir {
        Some(_) => None,
        None => Some(temporary_folder()?),
    };
    let temporary_path = || temporary.as_ref().map(|folder| folder.path().to_owned());
    let folder = arguments
        .data_dir
        .or_else(temporary_path)
        .unwrap_or_default();
    let data_dir = DataDir::prepare(&folder)?;
    if data_dir.database().exists() {
        return Err(Failure::new(format!(
            "{} already has a database; choose another --data-dir for the demo",
            folder.display()
        )));
    }
    write_specs(&data_dir)?;
    let serve = ServeArguments::for_demo(folder, arguments.port);
    let serving = Serving::start(ui, serve, cast(arguments.pace)?, Vec::new()).await?;
    let token = Token::load(&serving.data_dir.operator_token());
    if let Ok(Some(token)) = token {
        ui.line(format_args!(
            "Open {}",
            operator::link(&serving.url, &token)
        ))?;
    }
    ui.line("")?;
    let shown = show::Show::begin(ui, &serving.engine);
    let result = play(&serving.engine).await;
    shown.end().await;
    let task = result?;
    let kept = temporary.is_none();
    print_result(ui, &task)?;
    if arguments.once {
        if kept {
            ui.line("\nLook around:")?;
            print_hints_at_rest(ui, &serving)?;
        }
        serving.engine.stopping().cancel();
    } else {
        ui.line("\nLook around:")?;
        print_hints(ui, &serving, &task)?;
        ui.line(if kept {
            "\nThe server is still running. Press Ctrl-C to stop it."
        } else {
            "\nThe server is still running. Press Ctrl-C to stop it and to delete its data."
        })?;
    }
    serving.until_stopped().await;
    if arguments.once && !kept {
        ui.line("\nThe demo is over: its server has stopped, and its data is deleted.")?;
    }
    Ok(())
}

fn temporary_folder() -> Result<TempDir, Failure> {
    let folder = tempfile::Builder::new().prefix("chorus-demo-").tempdir();
    folder.map_err(|error| Failure::new(format!("cannot create a temporary directory: {error}")))
}

/// Writes the specs that this program does not have.
fn write_specs(data_dir: &DataDir) -> Result<(), Failure> {
    for member in CAST {
        let Some(spec) = member.spec else { continue };
        let path = data_dir.path().join(member.spec_path());
        let folder = path.parent().unwrap_or(data_dir.path());
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, format!("# {}\n\n{spec}\n", member.name)))
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    }
    Ok(())
}

/// Returns the scripted agents, all of which run this program.
fn cast(pace: u64) -> Result<Vec<Agent>, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find this program: {error}")))?;
    let text = |text: &str| text.parse::<Text>().expect("has no NUL");
    let agent = |member: Member| Agent {
        available: true,
        name: AgentName::parse(member.name).expect("the cast has legal names"),
        spec_path: text(&member.spec_path()),
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
        roles: member
            .role
            .map(|role| Role::parse(role).expect("the cast has legal roles"))
            .into_iter()
            .collect(),
        skills: Vec::new(),
        max_session_duration: None,
        responsibilities: Text::default(),
        isolation: None,
    };
    Ok(CAST.map(agent).into())
}

/// Creates the first task and hands it to the orchestrator, which does the rest; then plays the other scenes. Returns the first task.
async fn play(engine: &Engine) -> Result<Task, Failure> {
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
    let delegated = engine
        .start_handoff(task.id, input, &Caller::Person, None, None)
        .await?;
    let task = delegated.task;
    let minute = std::time::Duration::from_mins(2);
    let task = engine.task_when_idle(&task.id, minute).await?;
    scenes::play(engine).await?;
    Ok(task)
}

fn print_result(ui: Ui, task: &Task) -> Result<(), Failure> {
    let output = last_handoff(task)?.end.as_ref();
    let output = output.map_or("", |end| end.output.as_str());
    ui.line(format_args!(
        "\nFinal message of the orchestrator:\n\n{output}"
    ))
}

fn last_handoff(task: &Task) -> Result<&ChainEntry, Failure> {
    let last = task.agent_chain().last();
    last.ok_or_else(|| Failure::new("the task was not handed off"))
}

/// Prints the commands that show more of a running server.
fn print_hints(ui: Ui, serving: &Serving, task: &Task) -> Result<(), Failure> {
    let (url, id, handoff) = (&serving.url, &task.id, &last_handoff(task)?.id);
    let history = format!("curl -s {url}/api/tasks/{id}/history | jq -c '.data.events[]'");
    for (subject, command) in [
        ("agents", format!("chorus task tree {id} --url {url}")),
        (
            "conversation",
            format!("chorus task conversation {id} --url {url}"),
        ),
        (
            "agent's output",
            format!("chorus log {handoff} --url {url}"),
        ),
        ("history", history),
    ] {
        hint(ui, subject, &command)?;
    }
    hint_database(ui, serving)
}

/// Prints the commands that show more once the server has stopped.
fn print_hints_at_rest(ui: Ui, serving: &Serving) -> Result<(), Failure> {
    let data = serving.data_dir.path().display();
    hint(ui, "server", &format!("chorus serve --data-dir {data}"))?;
    hint_database(ui, serving)
}

fn hint_database(ui: Ui, serving: &Serving) -> Result<(), Failure> {
    let data = serving.data_dir.path().display();
    let command = format!("sqlite3 -readonly -box {data}/chorus.db 'select * from chain'");
    hint(ui, "database", &command)
}

fn hint(ui: Ui, subject: &str, command: &str) -> Result<(), Failure> {
    ui.line(format_args!("  {subject:<16} {command}"))
}
