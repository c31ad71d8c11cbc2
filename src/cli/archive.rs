//! `chorus export` and `chorus import`

use std::path::PathBuf;

use super::arguments::{ExportArguments, ImportArguments};
use super::ledger;
use super::ui::{Failure, ProgressBar, Ui, one_line};
use crate::config::{DataDir, Limits};
use crate::domain::{Rules, Text};
use crate::engine::archive::{
    ArchiveError, BadFile, Displaced, ExportOptions, ImportOptions, Starting,
};
use crate::words::counted;

/// How many tasks and requests without a usable workspace an import names.
const MOST_NAMED: usize = 20;

pub(super) async fn export(ui: Ui, arguments: ExportArguments) -> Result<(), Failure> {
    let data_dir = DataDir::existing(&arguments.data.data_dir)?;
    let engine = ledger::open_to_read(&data_dir).await?;
    let options = ExportOptions {
        with_environment: arguments.with_environment.into_iter().collect(),
    };
    let bar = ProgressBar::new("Exporting");
    let progress = bar.clone();
    let exported = engine
        .export(&arguments.dir, options, move |step| progress.show(step))
        .await;
    bar.clear();
    engine.close().await;
    let exported = exported.map_err(|error| Failure::caused(&error))?;
    report_missing(ui, &exported.missing_attachments);
    ui.line(format_args!(
        "Exported {} to {}",
        counts([
            exported.tasks,
            exported.agents,
            exported.tools,
            exported.requests,
            exported.alerts,
            exported.increments,
            exported.mail,
        ]),
        arguments.dir.display()
    ))
}

pub(super) async fn import(ui: Ui, arguments: ImportArguments) -> Result<(), Failure> {
    let data_dir = DataDir::prepare(&arguments.data.data_dir)?;
    let _lock = data_dir.lock()?;
    let engine = ledger::open(&data_dir, None, 1, Limits::default(), Rules::default()).await?;
    let bar = ProgressBar::new("Checking");
    let progress = bar.clone();
    let options = ImportOptions {
        skip_bad: arguments.skip_bad,
    };
    let report = engine
        .import(&arguments.dir, options, move |step| progress.show(step))
        .await;
    bar.clear();
    engine.close().await;
    match report {
        Ok(report) => {
            report_bad(ui, &report.left_out);
            report_missing(ui, &report.missing_attachments);
            report_displaced(ui, &report.displaced);
            for (agent, unset) in &report.without_value {
                let unset: Vec<_> = unset.iter().map(Text::as_str).collect();
                ui.notice(format_args!(
                    "agent {agent}: the archive has no value for {}; set all variables: chorus agent edit {agent} --env NAME=VALUE …",
                    unset.join(", ")
                ));
            }
            report_starting(ui, &report.starting);
            ui.line(format_args!(
                "Imported {}; skipped {}",
                counts([
                    report.imported.tasks,
                    report.imported.agents,
                    report.imported.tools,
                    report.imported.requests,
                    report.imported.alerts,
                    report.imported.increments,
                    report.imported.mail,
                ]),
                counted(report.left_out.len(), "file")
            ))
        }
        Err(ArchiveError::Bad(bad)) => {
            report_bad(ui, &bad);
            Err(Failure::caused(&ArchiveError::Bad(bad))
                .with_hint("correct the files, or skip them with --skip-bad"))
        }
        Err(error) => Err(Failure::caused(&error)),
    }
}

/// Counts the contents of an archive. Tasks and agents are always named, other nouns only if there are any.
fn counts(numbers: [u64; 7]) -> String {
    let things = [
        "task",
        "agent",
        "tool",
        "request",
        "alert",
        "increment",
        "mail",
    ];
    let counted: Vec<_> = numbers
        .into_iter()
        .zip(things)
        .filter(|(number, thing)| *number > 0 || matches!(*thing, "task" | "agent"))
        .map(|(number, thing)| counted(number, thing))
        .collect();
    let (last, others) = counted.split_last().expect("there are tasks and agents");
    format!("{} and {last}", others.join(", "))
}

fn report_bad(ui: Ui, bad: &[BadFile]) {
    for file in bad {
        ui.notice(file);
    }
}

/// Names the first tasks and requests whose workspaces agents cannot use, and counts the others.
fn report_displaced(ui: Ui, displaced: &[Displaced]) {
    let named = &displaced[..displaced.len().min(MOST_NAMED)];
    for each in named {
        let Displaced {
            noun,
            id,
            workspace,
            problem,
        } = each;
        let workspace = workspace.as_str().replace(char::is_control, "\u{fffd}");
        let advice = match *noun {
            "task" => format!("give the task another one: chorus task edit {id} --workspace DIR"),
            _ => "put a directory there that agents may use".to_owned(),
        };
        ui.notice(format_args!(
            "{noun} {id}: the workspace {workspace} {problem}; {advice}"
        ));
    }
    let others = displaced.len() - named.len();
    if others > 0 {
        ui.notice(format_args!(
            "{others} more tasks and requests have a workspace that agents cannot use"
        ));
    }
}

/// Names what the next server starts by itself, and programs that somebody else chose.
fn report_starting(ui: Ui, starting: &Starting) {
    let Starting {
        waiting,
        programs,
        commands,
    } = starting;
    for (agent, program) in programs {
        let program = one_line(program.as_str());
        ui.notice(format_args!(
            "agent {agent} is new and starts the program {program}"
        ));
    }
    for (kind, command) in commands {
        let words: Vec<_> = command.iter().map(Text::as_str).collect();
        let command = one_line(&words.join(" "));
        ui.notice(format_args!("requests of kind {kind} start {command}"));
    }
    let work = [
        ("starts", waiting.runs, "queued run"),
        ("starts", waiting.requests, "approved request"),
        ("polls", waiting.jobs, "external job"),
    ];
    let work = work.into_iter().filter(|(_, number, _)| *number > 0);
    let has_work = work.clone().next().is_some();
    for (verb, number, noun) in work {
        ui.notice(format_args!(
            "the next server {verb} {}",
            counted(number, noun)
        ));
    }
    if has_work || !programs.is_empty() || !commands.is_empty() {
        ui.notice(
            "to look first without starting anything: chorus serve --max-runs 0 --no-dispatch",
        );
    }
}

fn report_missing(ui: Ui, missing: &[PathBuf]) {
    for file in missing {
        ui.notice(format_args!(
            "{}: the file of this attachment is missing",
            file.display()
        ));
    }
}
