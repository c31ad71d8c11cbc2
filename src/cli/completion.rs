//! Completion in a shell: `chorus completions`, and the questions that its scripts ask.
//!
//! # How it works
//! A script calls `chorus` with `CHORUS_COMPLETE` and the words of the command line; clap's engine finds the argument that is being
//! typed. Commands, options and fixed values come from the grammar. Ids and names come from the server, which is asked only for the
//! argument at hand. A server that is away or slow offers nothing, without a message: a message would land in the middle of the line.
//!
//! Bash puts a value on the command line as it is, without quotes. An agent chooses the ids of sessions, so [`is_harmless`] decides
//! which values are offered, and the names of files are left to the shell's own completion, which quotes them.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use super::arguments::{self, DEFAULT_DATA_DIR};
use super::server;
use super::ui::{Failure, Ui, one_line};
use super::values::Values;
use crate::client::Client;

/// The variable that tells a question of a script from a command.
const VARIABLE: &str = "CHORUS_COMPLETE";

/// The longest time that a person waits after pressing Tab.
const PATIENCE: Duration = Duration::from_millis(700);

/// Prints the script that connects a shell to [`answer`].
pub(super) fn print_script(ui: Ui, shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells
        .completer(&shell.to_string())
        .ok_or_else(|| Failure::usage(format!("Completion is not supported for {shell}")))?;
    shell
        .write_registration(VARIABLE, "chorus", "chorus", "chorus", &mut script)
        .map_err(|error| Failure::caused(&error))?;
    // Bash then completes names of files wherever Chorus offers nothing.
    let script =
        String::from_utf8_lossy(&script).replace("-o bashdefault", "-o bashdefault -o default");
    ui.line(script.trim())
}

/// Answers a script that asks for completions. Returns whether one did.
pub(super) fn answer() -> clap::error::Result<bool> {
    let folder = std::env::current_dir().ok();
    // The engine removes the variable before it builds the grammar.
    let is_verbatim = std::env::var_os(VARIABLE).is_some_and(|shell| is_verbatim(&shell));
    CompleteEnv::with_factory(|| with_values(arguments::command(), is_verbatim))
        .var(VARIABLE)
        .try_complete(std::env::args_os(), folder.as_deref())
}

/// Adds the values that only the server knows. For a shell that [`is_verbatim`], leaves out the names of files.
fn with_values(command: clap::Command, is_verbatim: bool) -> clap::Command {
    command
        .mut_args(|argument| match Values::of(&argument) {
            None if is_verbatim && argument.get_value_hint() != ValueHint::Unknown => {
                argument.value_hint(ValueHint::Other)
            }
            None => argument,
            Some(values) => argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
                offer(&values, typed)
            })),
        })
        .mut_subcommands(|command| with_values(command, is_verbatim))
}

/// Whether a shell inserts values without quotes. Such a shell completes names of files itself.
fn is_verbatim(shell: &OsStr) -> bool {
    shell == "bash" || shell == "powershell"
}

/// Returns the values that continue the typed text; none if no server answers in time.
fn offer(values: &Values, typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let (Ok(runtime), Ok(client)) = (runtime, client()) else {
        return Vec::new();
    };
    let listed = runtime
        .block_on(async { tokio::time::timeout(PATIENCE, values.list(&client, &typed)).await });
    let Ok(Ok(values)) = listed else {
        return Vec::new();
    };
    let typed = typed.to_lowercase();
    values
        .into_iter()
        .filter(|(value, _)| is_harmless(value) && value.to_lowercase().starts_with(&typed))
        .map(|(value, description)| {
            let description = one_line(&description);
            let help = (!description.is_empty()).then(|| description.into());
            CompletionCandidate::new(value).help(help)
        })
        .collect()
}

/// Whether every shell reads this value as one plain word, which is not an option.
fn is_harmless(value: &str) -> bool {
    let is_plain = |character: char| character.is_alphanumeric() || "-_.:@/+".contains(character);
    !value.starts_with('-') && value.chars().all(is_plain)
}

/// Returns a client of the server that the command line names, or of the usual one.
fn client() -> Result<Client, Failure> {
    let url = given("--url").or_else(|| std::env::var_os("CHORUS_URL"));
    let url = url.map(|url| url.to_string_lossy().into_owned());
    let data_dir = given("--data-dir").or_else(|| std::env::var_os("CHORUS_DATA_DIR"));
    let data_dir = data_dir.map_or_else(|| PathBuf::from(DEFAULT_DATA_DIR), PathBuf::from);
    server::client(url.as_deref(), &data_dir)
}

/// Returns the value of an option among the typed words.
fn given(option: &str) -> Option<OsString> {
    let mut words = std::env::args_os();
    while let Some(word) = words.next() {
        if word == option {
            return words.next();
        }
        let value = word
            .to_str()
            .and_then(|word| word.strip_prefix(option)?.strip_prefix('='));
        if let Some(value) = value {
            return Some(value.into());
        }
    }
    None
}
