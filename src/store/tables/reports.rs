//! The table `reports`.

use serde_json::Value;

use super::handoffs::report;
use crate::domain::{Report, ReportResult, Text, Timestamp};
use crate::store::{FromRow, Json, Result, Statement, Tx, View, columns, params, sql};

/// Saves the report of a hand-off, and replaces an earlier one.
pub fn insert(
    tx: &Tx<'_>,
    handoff_number: i64,
    report: &Report,
    reported_at: Timestamp,
) -> Result<()> {
    tx.execute(
        sql!(
            "INSERT INTO reports (handoff_number, result, reported_at, summary, details) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (handoff_number) DO UPDATE
             SET result = excluded.result, reported_at = excluded.reported_at, summary = excluded.summary,
                 details = excluded.details"
        ),
        params![
            handoff_number,
            report.result,
            reported_at,
            report.summary,
            report.details.as_ref().map(ToString::to_string),
        ],
    )?;
    Ok(())
}

columns! {
    struct ReportRow {
        result: ReportResult = "result",
        summary: Text = "summary",
        details: Option<Json<Value>> = "details",
    }
}

pub fn of_handoff(view: &View<'_>, handoff_number: i64) -> Result<Option<Report>> {
    const OF_HANDOFF: Statement<1> = sql!(
        "SELECT ",
        ReportRow::COLUMNS,
        " FROM reports WHERE handoff_number = $1"
    );
    let row = view.row(OF_HANDOFF, params![handoff_number], ReportRow::from_row)?;
    Ok(row.and_then(|row| report(Some(row.result), Some(row.summary), row.details)))
}
