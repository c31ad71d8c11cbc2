//! The command line. One file per command; [`ui`] is the only place that prints.

mod agent_import;
mod agents;
mod alert;
mod alive;
mod archive;
mod arguments;
mod backup;
mod chat;
mod collector;
mod completion;
mod demo;
mod doctor;
mod fields;
mod handoff;
mod ids;
mod increment;
mod input;
mod ledger;
mod local_socket;
mod log;
mod mail;
mod migrate;
mod missing;
mod operator;
mod own_task;
mod progress;
mod ready;
mod report;
mod request;
mod roles_file;
mod room;
mod route;
mod serve;
mod server;
mod session;
mod stats;
mod tag;
mod task;
mod template;
mod tool;
mod ui;
mod values;
mod wait;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};

use crate::memory;
use crate::supervisor::{NOT_STARTED, Supervised, supervise};
use arguments::{Arguments, Command};
use ui::{Exit, Failure, Ui};

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let ui = Ui;
    if let Some(dir) = run_to_supervise() {
        return hold_run(ui, &dir);
    }
    match completion::answer() {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => error.exit(),
    }
    let matches = matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let done = match arguments.command {
        Command::Supervise { dir } => return hold_run(ui, &dir),
        Command::Tag(command) => tag::run(ui, command),
        Command::AwaitTag(arguments) => tag::wait(&arguments),
        command => {
            wait_for_room(ui, &command);
            match runtime(&command) {
                Ok(runtime) => runtime.block_on(carry_out(ui, &matches, command)),
                Err(error) => Err(Failure::new(format!("cannot start: {error}"))),
            }
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ui.fail(&failure),
    }
}

/// Parses the command line. The usage in an error shows only arguments that a person would type: clap would add those that the
/// environment sets, such as `--url`.
fn matches() -> ArgMatches {
    own_task::matches().unwrap_or_else(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        let typed = arguments::without_environment().try_get_matches();
        typed.err().unwrap_or(error).exit()
    })
}

/// Runs a command with the full ids of shortened ones. A failure is told in the words of the command line.
async fn carry_out(ui: Ui, matches: &ArgMatches, command: Command) -> Result<(), Failure> {
    if let Err(failure) = ids::resolve(matches).await {
        return Err(missing::explain(matches, failure).await);
    }
    match run(ui, command).await {
        Err(failure) if failure.exit == Exit::NotFound => {
            Err(missing::explain(matches, failure).await)
        }
        Err(failure) if failure.exit == Exit::Usage => Err(fields::reword(matches, failure)),
        done => done,
    }
}

/// Recognises `supervise RUN-DIR` without clap: building the whole grammar would cost time before every run, and memory during it.
fn run_to_supervise() -> Option<PathBuf> {
    let mut arguments = std::env::args_os().skip(1);
    let (command, dir) = (arguments.next()?, arguments.next()?);
    let dir = PathBuf::from(dir);
    (command == "supervise" && dir.is_absolute() && arguments.next().is_none()).then_some(dir)
}

fn hold_run(ui: Ui, dir: &Path) -> ExitCode {
    match supervise(dir) {
        Ok(Supervised::ToTheEnd) => ExitCode::SUCCESS,
        Ok(Supervised::NotStarted(reason)) => {
            // The log of the supervisor.
            ui.notice(reason);
            ExitCode::from(NOT_STARTED)
        }
        Err(error) => ui.fail(&Failure::caused(&error)),
    }
}

/// Waits for the resources of a server before its runtime is built.
fn wait_for_room(ui: Ui, command: &Command) {
    if let Command::Serve(arguments) = command {
        room::wait(ui, &arguments.data.data_dir);
    }
}

/// The server uses all cores; a command that asks one question does not need them.
fn runtime(command: &Command) -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = match command {
        Command::Serve(_) | Command::Demo(_) => {
            memory::set_up();
            tokio::runtime::Builder::new_multi_thread()
        }
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    builder.enable_all().build()
}

async fn run(ui: Ui, command: Command) -> Result<(), Failure> {
    match command {
        Command::Task(command) => task::run(ui, command).await,
        Command::Handoff(arguments) => handoff::run(ui, arguments).await,
        Command::Chat(arguments) => chat::run(ui, arguments).await,
        Command::Cancel(arguments) => handoff::cancel(ui, arguments).await,
        Command::Log(arguments) => log::run(ui, arguments).await,
        Command::Request(command) => request::run(ui, command).await,
        Command::Increment(command) => increment::run(ui, command).await,
        Command::Session(command) => session::run(ui, command).await,
        Command::Mail(command) => mail::run(ui, command).await,
        Command::Alert(command) => alert::run(ui, command).await,
        Command::Agent(command) => agents::run(ui, command).await,
        Command::Tool(command) => tool::run(ui, command).await,
        Command::Serve(arguments) => serve::run(ui, arguments).await,
        Command::Operator(command) => operator::run(ui, command),
        Command::Demo(arguments) => demo::run(ui, arguments).await,
        Command::DemoAgent => demo::run_agent(ui).await,
        Command::Stats(arguments) => stats::run(ui, arguments).await,
        Command::Export(arguments) => archive::export(ui, arguments).await,
        Command::Import(arguments) => archive::import(ui, arguments).await,
        Command::Backup(arguments) => backup::run(ui, arguments).await,
        Command::Migrate(arguments) => migrate::run(ui, arguments).await,
        Command::Doctor(arguments) => doctor::run(ui, arguments).await,
        Command::Completions { shell } => completion::print_script(ui, shell),
        Command::Ready(arguments) => ready::run(ui, arguments).await,
        Command::Route(arguments) => route::run(ui, arguments).await,
        Command::Report(arguments) => report::run(ui, arguments).await,
        Command::Await(arguments) => request::wait(ui, arguments).await,
        Command::Supervise { .. } | Command::Tag(_) | Command::AwaitTag(_) => {
            unreachable!("main runs these commands without a runtime")
        }
    }
}

/// Returns the whole grammar of the command line, for tests and for docs/cli.md.
pub fn command() -> clap::Command {
    arguments::command()
}

/// Returns the names of the commands by group, for docs/cli.md.
pub fn groups() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    arguments::GROUPS.into_iter()
}
