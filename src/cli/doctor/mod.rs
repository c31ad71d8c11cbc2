//! `chorus doctor`

mod permissions;
mod routing;
mod uploads;

use std::collections::{BTreeMap, HashSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anstyle::{AnsiColor, Style};

use crate::api::DispatchOverview;
use crate::cli::arguments::DoctorArguments;
use crate::cli::ledger;
use crate::cli::server;
use crate::cli::stray_agents::StrayAgents;
use crate::cli::ui::{Failure, Ui, one_line, party, time};
use crate::client::ClientError;
use crate::clock::Clock;
use crate::config::{DataDir, DataDirError};
use crate::domain::AlertQuery;
use crate::domain::{
    Agent, Alert, Isolation, Mail, MailQuery, Provider, Timestamp, WaitingRequest,
};
use crate::engine::Engine;
use crate::ledger::alert;
use crate::ledger::request::kind_rules;
use crate::ledger::{agent, mail};
use crate::runner::providers::{find_program, is_logged_in, program_of, version};
use crate::runner::{check_masks, read_spec};
use crate::store::{MigrationState, migration_status};
use crate::words::counted;

/// The tolerated difference of two clocks, in milliseconds.
const TOLERANCE: i64 = 5_000;

/// The limit for the message of an alert or of a failure, in bytes.
const ALERT: usize = 500;

/// The finding of a check.
enum Finding {
    Good(String),
    /// Worth knowing; not a failure.
    Note(String),
    /// A problem, and how to solve it.
    Bad(String, String),
}

use Finding::{Bad, Good, Note};

pub(super) async fn run(ui: Ui, arguments: DoctorArguments) -> Result<(), Failure> {
    let mut findings = Vec::new();
    match DataDir::existing(&arguments.data.data_dir) {
        Ok(data_dir) => check_data(&data_dir, &mut findings).await,
        Err(error @ DataDirError::Empty { .. }) => findings.push(Note(error.to_string())),
        Err(error) => findings.push(Bad(
            error.to_string(),
            "make the directory readable for this user".to_owned(),
        )),
    }
    findings.push(check_server(&arguments).await);
    let mut problems = 0;
    for finding in &findings {
        problems += usize::from(matches!(finding, Bad(..)));
        ui.line(finding)?;
    }
    match problems {
        0 => Ok(()),
        _ => Err(Failure::new(format!(
            "{} found",
            counted(problems, "problem")
        ))),
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const GOOD: Style = AnsiColor::Green.on_default();
        const NOTE: Style = AnsiColor::Yellow.on_default();
        const BAD: Style = AnsiColor::Red.on_default();
        match self {
            Good(what) => write!(f, "{GOOD}ok{GOOD:#}    {what}"),
            Note(what) => write!(f, "{NOTE}note{NOTE:#}  {what}"),
            Bad(what, advice) => write!(f, "{BAD}bad{BAD:#}   {what}\n      to do: {advice}"),
        }
    }
}

async fn check_data(data_dir: &DataDir, findings: &mut Vec<Finding>) {
    findings.push(match DataDir::prepare(data_dir.path()) {
        Ok(_) => Good(format!(
            "data directory {} is writable",
            data_dir.path().display()
        )),
        Err(error) => Bad(
            error.to_string(),
            "make the directory writable for this user, or choose another one with --data-dir"
                .into(),
        ),
    });
    findings.extend(check_modes(data_dir));
    findings.push(check_token(&data_dir.operator_token()));
    let (is_current, finding) = check_migrations(data_dir).await;
    findings.push(finding);
    if !is_current {
        return;
    }
    match ledger::open_to_read(data_dir).await {
        Err(failure) => findings.push(Bad(
            failure.message,
            "restore a backup if the file is damaged".to_owned(),
        )),
        Ok(engine) => {
            check_ledger(data_dir, &engine, findings).await;
            findings.extend(check_agent_files(data_dir, &engine).await);
            match uploads::check(data_dir, &engine).await {
                Ok(unused) => findings.extend(unused),
                Err(error) => findings.push(Bad(error.to_string(), "restore a backup".to_owned())),
            }
            engine.close().await;
        }
    }
}

async fn check_agent_files(data_dir: &DataDir, engine: &Engine) -> Option<Finding> {
    let agents = engine.read(agent::list).await.ok()?;
    let stray = StrayAgents::find(data_dir, &agents)?;
    Some(Note(format!(
        "{}\n      to do: start the server, and take them in with {}",
        stray.sentence(),
        stray.command
    )))
}

/// Reports parts that [`DataDir::prepare`] must not close to others: they belong to another user, or the directory is shared.
fn check_modes(data_dir: &DataDir) -> Option<Finding> {
    let open = data_dir.open_to_others();
    let names: Vec<_> = open.iter().map(|path| path.display().to_string()).collect();
    (!names.is_empty()).then(|| {
        Bad(
            format!("others can open {}", names.join(", ")),
            format!("chmod go-rwx {}", names.join(" ")),
        )
    })
}

fn check_token(path: &Path) -> Finding {
    match std::fs::metadata(path) {
        Err(_) => Note(format!(
            "{} does not exist yet; `chorus serve` creates it",
            path.display()
        )),
        Ok(file) if file.permissions().mode().trailing_zeros() >= 6 => {
            Good("only you can read the operator's token".to_owned())
        }
        Ok(_) => Bad(
            format!("others can read the operator's token in {}", path.display()),
            format!("chmod 600 {}", path.display()),
        ),
    }
}

async fn check_migrations(data_dir: &DataDir) -> (bool, Finding) {
    let migrations = match migration_status(&data_dir.database()).await {
        Ok(migrations) => migrations,
        Err(error) => {
            return (
                false,
                Bad(
                    Failure::from(error).message,
                    "check that the file is a Chorus database, or restore a backup".into(),
                ),
            );
        }
    };
    let is = |state| migrations.iter().any(|migration| migration.state == state);
    if is(MigrationState::Unknown) {
        let what = "a newer version of Chorus wrote the database".to_owned();
        (
            false,
            Bad(what, "use that version or a later one".to_owned()),
        )
    } else if is(MigrationState::Changed) {
        let what = "an applied migration differs from the one in this version of Chorus".to_owned();
        (
            false,
            Bad(
                what,
                "use the version that wrote the database, or restore a backup".to_owned(),
            ),
        )
    } else if is(MigrationState::Pending) {
        (
            false,
            Bad(
                "an older version of Chorus wrote the database".to_owned(),
                "migrate it with chorus migrate".to_owned(),
            ),
        )
    } else {
        (
            true,
            Good(format!(
                "the database is up to date ({})",
                counted(migrations.len(), "migration")
            )),
        )
    }
}

async fn check_ledger(data_dir: &DataDir, engine: &Engine, findings: &mut Vec<Finding>) {
    match engine.problems().await {
        Ok(problems) if problems.is_empty() => {
            findings.push(Good("the database is sound".to_owned()));
        }
        Ok(problems) => findings.extend(
            problems
                .into_iter()
                .map(|problem| Bad(problem, "stop the server and restore a backup".to_owned())),
        ),
        Err(error) => findings.push(Bad(error.to_string(), "restore a backup".to_owned())),
    }
    match engine.newest_event_time().await {
        Ok(Some(newest)) if newest.as_millis() > Clock::system().now().as_millis() + TOLERANCE => {
            findings.push(Bad(
                "the newest event is in the future: the clock of this machine went back".to_owned(),
                "set the clock, for example with a time service".to_owned(),
            ));
        }
        Ok(_) => findings.push(Good("the clock is not behind the newest event".to_owned())),
        Err(error) => findings.push(Bad(error.to_string(), "restore a backup".to_owned())),
    }
    match active_alerts(engine).await {
        Ok(alerts) => findings.extend(alerts.iter().map(note_alert)),
        Err(error) => findings.push(Bad(error.to_string(), "restore a backup".to_owned())),
    }
    let now = Clock::system().now();
    match overdue_mail(engine, now).await {
        Ok(mail) => findings.extend(mail.iter().map(|mail| note_overdue(mail, now))),
        Err(error) => findings.push(Bad(error.to_string(), "restore a backup".to_owned())),
    }
    match engine.dispatch_overview().await {
        Ok(status) => check_dispatch(&status.into(), findings),
        Err(error) => findings.push(Bad(error.to_string(), "restore a backup".to_owned())),
    }
    match routing::check(engine).await {
        Ok(held) => findings.extend(held),
        Err(error) => findings.push(Bad(error.to_string(), "restore a backup".to_owned())),
    }
    match engine.read(agent::list).await {
        Ok(agents) => {
            check_routes(engine, &agents, findings).await;
            check_agents(data_dir.path(), &agents, findings);
        }
        Err(error) => findings.push(Bad(error.to_string(), "restore a backup".to_owned())),
    }
}

/// Lists the active alerts, oldest first.
async fn active_alerts(engine: &Engine) -> Result<Vec<Alert>, crate::Error> {
    let mut query = AlertQuery {
        limit: engine.limits().largest_page,
        ..AlertQuery::default()
    };
    let mut alerts = Vec::new();
    loop {
        let asked = query.clone();
        let page = engine.read(move |view| alert::list(view, &asked)).await?;
        alerts.extend(page.items);
        if page.next.is_none() {
            return Ok(alerts);
        }
        query.after = alerts.last().map(|alert| alert.id.clone());
    }
}

fn note_alert(alert: &Alert) -> Finding {
    Note(format!(
        "alert by {}, {}: {}\n      to do: deal with it, then chorus alert resolve {}",
        one_line(party(&alert.raised_by)),
        time(alert.raised_at),
        one_line(alert.message.beginning(ALERT).as_str()),
        alert.id
    ))
}

/// Lists mail with an overdue acknowledgement, oldest first.
async fn overdue_mail(engine: &Engine, now: Timestamp) -> Result<Vec<Mail>, crate::Error> {
    let mut query = MailQuery {
        overdue_at: Some(now),
        limit: engine.limits().largest_page,
        ..MailQuery::default()
    };
    let mut all: Vec<Mail> = Vec::new();
    loop {
        let page = engine.read({
            let query = query.clone();
            move |view| mail::list(view, &query)
        });
        let page = page.await?;
        all.extend(page.items);
        if page.next.is_none() {
            return Ok(all);
        }
        query.after = all.last().map(|mail| mail.id.clone());
    }
}

fn note_overdue(mail: &Mail, now: Timestamp) -> Finding {
    let late: Vec<_> = mail
        .overdue(now)
        .map(|each| each.recipient.as_str())
        .collect();
    let due = mail.ack_due_at.map(time).unwrap_or_default();
    Note(format!(
        "mail from {}, due {due}, is not acknowledged by {}: {}\n      to do: read it with chorus mail show {}; hand the agent a task, or acknowledge it with chorus mail ack {} --as NAME",
        mail.from,
        late.join(", "),
        one_line(mail.subject.beginning(ALERT).as_str()),
        mail.id,
        mail.id
    ))
}

/// Finds requests that no agent will start, that have failed, or that wait for a decision or a claim.
fn check_dispatch(overview: &DispatchOverview, findings: &mut Vec<Finding>) {
    for held in &overview.held {
        findings.push(Note(format!(
            "{} of kind {} will not start. {}",
            counted(held.count, "request"),
            held.kind,
            held.reason
        )));
    }
    for claimed in &overview.running {
        if claimed.agent.is_none() {
            findings.push(Note(format!(
                "request {} has been claimed in its file since {}, without a heartbeat: {}",
                claimed.id,
                time(claimed.since),
                one_line(claimed.title.as_str())
            )));
        }
    }
    for stuck in &overview.stuck {
        findings.push(Note(format!(
            "request {} is stuck after {}{}: {}\n      to do: read chorus request show {}, then chorus request approve {}",
            stuck.id,
            counted(stuck.attempts, "attempt"),
            failure(stuck),
            one_line(stuck.title.as_str()),
            stuck.id,
            stuck.id
        )));
    }
    for waiting in overview.undecided.iter().chain(&overview.waiting) {
        if waiting.last_failure.is_some() {
            findings.push(Note(format!(
                "request {} has failed{}: {}\n      to do: read chorus request show {}; if it is in needs, chorus request approve {}",
                waiting.id,
                failure(waiting),
                one_line(waiting.title.as_str()),
                waiting.id,
                waiting.id
            )));
        }
    }
    for (requests, advice) in [
        (
            &overview.undecided,
            "for a decision; see chorus request list --state needs",
        ),
        (
            &overview.next,
            "for a claim; see chorus request list --state next",
        ),
    ] {
        if !requests.is_empty() {
            let wait = if requests.len() == 1 { "waits" } else { "wait" };
            findings.push(Note(format!(
                "{} {wait} {advice}",
                counted(requests.len(), "request")
            )));
        }
    }
}

/// Formats the reason of the last failure, in brackets.
fn failure(request: &WaitingRequest) -> String {
    let reason = request.last_failure.as_ref();
    reason.map_or_else(String::new, |reason| {
        format!(" ({})", one_line(reason.beginning(ALERT).as_str()))
    })
}

/// Finds rules that name an unknown agent.
async fn check_routes(engine: &Engine, agents: &[Agent], findings: &mut Vec<Finding>) {
    let routes = match engine.read(kind_rules::list).await {
        Ok(routes) => routes,
        Err(error) => {
            findings.push(Bad(error.to_string(), "restore a backup".to_owned()));
            return;
        }
    };
    let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for route in &routes {
        if agents.iter().all(|agent| agent.name != route.agent) {
            let kinds = missing.entry(route.agent.as_str()).or_default();
            kinds.push(route.kind.as_str());
        }
    }
    for (agent, kinds) in missing {
        findings.push(Note(format!(
            "requests of kind {} go to the agent {agent}, which does not exist; create the agent, or change the rule with `chorus request kinds --set FILE`",
            kinds.join(", ")
        )));
    }
}

/// Finds missing programs and specs of agents.
fn check_agents(data_dir: &Path, agents: &[Agent], findings: &mut Vec<Finding>) {
    if agents.is_empty() {
        findings.push(Note("no agent is configured".to_owned()));
    }
    let mut programs: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut commands = HashSet::new();
    let mut logins = BTreeMap::new();
    for agent in agents {
        let program = program_of(agent);
        if agent.provider == Provider::Command {
            commands.insert(program.clone());
        }
        logins.insert(program.clone(), agent.provider);
        programs
            .entry(program)
            .or_default()
            .push(agent.name.as_str());
        let needs_spec = agent.provider != Provider::Command || !agent.spec_path.is_blank();
        if let Some(problem) = read_spec(agent, data_dir).err().filter(|_| needs_spec) {
            findings.push(Bad(
                problem.to_string(),
                "write the spec, or change the agent's specPath".to_owned(),
            ));
        }
    }
    check_isolation(agents, findings);
    permissions::check(agents, findings);
    for (program, users) in programs {
        findings.extend(
            logins
                .get(&program)
                .and_then(|provider| check_login(*provider, &find_program(&program)?)),
        );
        findings.push(match find_program(&program) {
            Some(path) => {
                // A custom command may ignore --version and begin its work, so it is not run.
                let version = (!commands.contains(&program))
                    .then(|| version(&path))
                    .flatten()
                    .map(|version| format!(" ({version})"))
                    .unwrap_or_default();
                Good(format!(
                    "{}{version} runs {}",
                    path.display(),
                    users.join(", ")
                ))
            }
            None if program.is_empty() => Bad(
                format!("{} has no program", users.join(", ")),
                format!("run `chorus agent edit {} --program PATH`", users[0]),
            ),
            None => Note(format!(
                "the program {program} is not on PATH; {} cannot run until it is installed",
                users.join(", ")
            )),
        });
    }
}

/// Asks a program whether it is logged in. A key in the environment of the server is not seen from here.
fn check_login(provider: Provider, program: &Path) -> Option<Finding> {
    let (how, key) = match provider {
        Provider::ClaudeCode => ("start it and follow /login", "ANTHROPIC_API_KEY"),
        Provider::Codex => ("run `codex login`", "CODEX_API_KEY"),
        Provider::OpenCode | Provider::Gemini | Provider::Command => return None,
    };
    (!is_logged_in(provider, program)?).then(|| {
        Note(format!(
            "{} is not logged in for this user\n      to do: {how}, unless {key} is set for the server or the agent, or the program is set up for another API",
            program.display()
        ))
    })
}

/// Finds out whether masked agents can run.
fn check_isolation(agents: &[Agent], findings: &mut Vec<Finding>) {
    let masked = agents
        .iter()
        .filter(|agent| agent.isolation == Some(Isolation::Masked))
        .map(|agent| agent.name.as_str());
    let masked: Vec<_> = masked.collect();
    if masked.is_empty() {
        return;
    }
    let masked = masked.join(", ");
    findings.push(match check_masks() {
        Ok(bwrap) => Good(format!("{} masks {masked}", bwrap.display())),
        Err(problem) => Bad(
            format!("{masked} cannot run: {problem}"),
            "install bubblewrap, or change the agent's isolation".to_owned(),
        ),
    });
}

async fn check_server(arguments: &DoctorArguments) -> Finding {
    let client = match server::client(arguments.url.as_deref(), &arguments.data.data_dir) {
        Ok(client) => client.with_patience(None),
        Err(failure) => return Bad(failure.message, "name the server with --url".to_owned()),
    };
    let reply = match client.ready().await {
        Ok(reply) => reply,
        Err(error @ ClientError::Unreachable { .. }) => {
            return Note(error.to_string());
        }
        Err(error) => {
            return Bad(
                error.to_string(),
                "look at the log of the server".to_owned(),
            );
        }
    };
    match reply.answer() {
        Err(error) => Bad(error.to_string(), "name the server with --url".to_owned()),
        Ok(answer) => {
            let skew = answer.meta.timestamp.as_millis() - Clock::system().now().as_millis();
            if skew.abs() > TOLERANCE {
                let what = format!("the clock of the server differs by {} s", skew / 1000);
                Bad(
                    what,
                    "set both clocks, for example with a time service".to_owned(),
                )
            } else {
                Good(format!(
                    "a server answers at {} and can write",
                    client.url()
                ))
            }
        }
    }
}
