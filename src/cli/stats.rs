//! `chorus stats`

use super::arguments::{Since, StatsArguments};
use super::ui::{Failure, Table, Ui, cost, duration};
use crate::client::AnalyticsQuery;
use crate::clock::Clock;
use crate::domain::{AgentFigures, AgentName, HandoffAnalytics, HandoffFigures, HandoffQuality};

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
        agents,
        paths,
    } = analytics;
    let open = total.handoffs.saturating_sub(total.ended);
    ui.line(format_args!("hand-offs  {} ({open} open)", total.handoffs))?;
    ui.line(format_args!(
        "success    {} ({} of {} ended{})",
        rate(total.success_rate),
        total.completed,
        total.ended.saturating_sub(total.moved_on),
        moved_on(total)
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
                &rate(pair.figures.success_rate),
                &took(pair.figures.median_ms),
                &took(pair.figures.p95_ms),
                &cost(pair.figures.cost_usd),
                &pair.bounces.to_string(),
            ]);
        }
        ui.table(&table)?;
    }
    if !agents.is_empty() {
        ui.line("\nQuality by agent")?;
        ui.table(&quality(agents))?;
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

/// Builds the table of agents. A rate has the counts from which it is made.
fn quality(agents: &[AgentFigures]) -> Table {
    let mut table = Table::new(
        "No agents",
        &["agent", "success", "rework", "returned", "first message"],
    );
    for agent in agents {
        let AgentFigures {
            agent_name,
            figures,
            quality:
                HandoffQuality {
                    rework,
                    review,
                    first_message,
                },
        } = agent;
        table.row([
            agent_name.as_str(),
            &rate(figures.success_rate),
            &share(rework.rate, rework.reworked, rework.judged),
            &share(review.rate, review.returned, review.reviewed),
            &took(first_message.median_ms),
        ]);
    }
    table
}

/// Names the hand-offs that count neither as a success nor as a failure.
fn moved_on(figures: &HandoffFigures) -> String {
    match figures.moved_on {
        0 => String::new(),
        moved_on => format!(", {moved_on} moved on"),
    }
}

fn rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| format!("{:.0} %", rate * 100.0))
}

fn share(share: Option<f64>, part: u64, all: u64) -> String {
    match share {
        None => "-".to_owned(),
        Some(_) => format!("{} ({part} of {all})", rate(share)),
    }
}

fn took(millis: Option<u64>) -> String {
    millis.map_or_else(
        || "-".to_owned(),
        |millis| duration(i64::try_from(millis).unwrap_or(i64::MAX)),
    )
}
