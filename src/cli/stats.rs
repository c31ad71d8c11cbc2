//! `chorus stats`

use super::arguments::{Since, StatsArguments};
use super::ui::{Failure, Table, Ui, cost, duration};
use crate::client::AnalyticsQuery;
use crate::clock::Clock;
use crate::domain::{AgentName, HandoffAnalytics, HandoffFigures};

pub(super) async fn run(ui: Ui, arguments: StatsArguments) -> Result<(), Failure> {
    let StatsArguments {
        since,
        agent,
        server,
    } = arguments;
    let since = since.map(|since| match since {
        Since::At(time) => time.as_millis(),
        Since::Ago(millis) => Clock::system().now().as_millis().saturating_sub(millis),
    });
    let query = AnalyticsQuery { since, agent };
    let client = server.client()?;
    let reply = client.handoffs().analytics(&query).await?;
    if let Some(agent) = &query.agent
        && reply.data()?.total.handoffs == 0
    {
        // An agent that does not exist must not look like one that did nothing.
        client.agents().get(agent).await?;
    }
    server.show(ui, &reply, |analytics| show(ui, &analytics))
}

fn show(ui: Ui, analytics: &HandoffAnalytics) -> Result<(), Failure> {
    let HandoffAnalytics {
        total,
        bounces,
        pairs,
        paths,
    } = analytics;
    let open = total.handoffs.saturating_sub(total.ended);
    ui.line(format_args!("hand-offs  {} ({open} open)", total.handoffs))?;
    ui.line(format_args!(
        "success    {} ({} of {} ended)",
        rate(total),
        total.completed,
        total.ended
    ))?;
    ui.line(format_args!(
        "time       median {}, p95 {}",
        took(total.median_ms),
        took(total.p95_ms)
    ))?;
    ui.line(format_args!("cost       {}", cost(total.cost_usd)))?;
    ui.line(format_args!("bounces    {bounces}"))?;
    if !pairs.is_empty() {
        ui.line("\nBy pair of agents")?;
        let mut table = Table::new(
            "No pairs",
            &[
                "from", "to", "handoffs", "success", "median", "p95", "cost", "bounces",
            ],
        );
        for pair in pairs {
            table.row([
                pair.from_agent.as_ref().map_or("-", AgentName::as_str),
                pair.to_agent.as_str(),
                &pair.figures.handoffs.to_string(),
                &rate(&pair.figures),
                &took(pair.figures.median_ms),
                &took(pair.figures.p95_ms),
                &cost(pair.figures.cost_usd),
                &pair.bounces.to_string(),
            ]);
        }
        ui.table(&table)?;
    }
    if !paths.is_empty() {
        ui.line("\nCommon paths")?;
        let mut table = Table::new("No paths", &["times", "hand-offs", "path"]);
        for path in paths {
            let agents: Vec<_> = path.agents.iter().map(AgentName::as_str).collect();
            table.row([
                &path.count.to_string(),
                &path.length.to_string(),
                &agents.join(" → "),
            ]);
        }
        ui.table(&table)?;
    }
    Ok(())
}

fn rate(figures: &HandoffFigures) -> String {
    figures
        .success_rate
        .map_or_else(|| "-".to_owned(), |rate| format!("{:.0} %", rate * 100.0))
}

fn took(millis: Option<u64>) -> String {
    millis.map_or_else(
        || "-".to_owned(),
        |millis| duration(i64::try_from(millis).unwrap_or(i64::MAX)),
    )
}
