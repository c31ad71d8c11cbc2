//! The table `dispatch_routes`: the kind rules.

use crate::domain::{AgentName, Kind, KindMode, KindRule, Text};
use crate::store::value::to_json;
use crate::store::{FromRow, Json, Result, Row, Statement, Tx, View, columns, params, sql, text};

columns! {
    struct RuleRow {
        kind: Kind = "kind",
        agent: AgentName = "agent_name",
        mode: KindMode = "mode",
        rank: f64 = "rank",
        batch: bool = "batch",
        retry: bool = "retry",
        max_attempts: u32 = "max_attempts",
        start_command: Option<Json<Vec<Text>>> = "start_command",
        poll_command: Option<Json<Vec<Text>>> = "poll_command",
        poll_seconds: u32 = "poll_seconds",
    }
}

const SELECT: &str = text!("SELECT ", RuleRow::COLUMNS, " FROM dispatch_routes");

fn from_row(row: &Row<'_>) -> Result<KindRule> {
    let row = RuleRow::from_row(row)?;
    Ok(KindRule {
        kind: row.kind,
        agent: row.agent,
        mode: row.mode,
        rank: row.rank,
        batch: row.batch,
        retry: row.retry,
        max_attempts: row.max_attempts,
        start_command: row.start_command.map(|Json(command)| command),
        poll_command: row.poll_command.map(|Json(command)| command),
        poll_seconds: row.poll_seconds,
    })
}

pub fn find(view: &View<'_>, kind: &Kind) -> Result<Option<KindRule>> {
    const ONE: Statement<1> = sql!(SELECT, " WHERE kind = $1");
    view.row(ONE, params![kind], from_row)
}

/// Lists the rules in dispatch order.
pub fn list(view: &View<'_>) -> Result<Vec<KindRule>> {
    const ALL: Statement<0> = sql!(SELECT, " ORDER BY rank, kind");
    view.rows(ALL, params![], from_row)
}

/// Lists the kinds that have a rule, in dispatch order.
pub fn list_kinds(view: &View<'_>) -> Result<Vec<Kind>> {
    view.rows(
        sql!("SELECT kind FROM dispatch_routes ORDER BY rank, kind"),
        params![],
        |row| row.get(0),
    )
}

pub fn has_any(view: &View<'_>) -> Result<bool> {
    view.has(sql!("SELECT 1 FROM dispatch_routes LIMIT 1"), params![])
}

pub fn replace_all(tx: &Tx<'_>, rules: &[KindRule]) -> Result<()> {
    tx.execute(sql!("DELETE FROM dispatch_routes"), params![])?;
    for rule in rules {
        tx.insert(
            sql!(
                "INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, start_command,
                                              poll_command, poll_seconds)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
            ),
            params![
                rule.kind,
                rule.agent,
                rule.mode,
                rule.rank,
                rule.batch,
                rule.retry,
                rule.max_attempts,
                rule.start_command.as_ref().map(to_json),
                rule.poll_command.as_ref().map(to_json),
                rule.poll_seconds,
            ],
        )?;
    }
    Ok(())
}

/// Lists the kinds whose rules name an agent, in dispatch order.
pub fn kinds_of_agent(view: &View<'_>, agent: &AgentName) -> Result<Vec<Kind>> {
    view.rows(
        sql!("SELECT kind FROM dispatch_routes WHERE agent_name = $1 COLLATE NOCASE ORDER BY rank, kind"),
        params![agent],
        |row| row.get(0),
    )
}
