//! `chorus agents`

use super::arguments::AgentsCommand;
use super::server::segment;
use super::ui::{Failure, Table, Ui, printable, usage};
use crate::domain::{Agent, UsageSum};

pub(super) async fn run(ui: Ui, command: AgentsCommand) -> Result<(), Failure> {
    match command {
        AgentsCommand::List { server } => {
            let reply = server.client()?.get("/api/agents", &[]).await?;
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            let mut table = Table::new(&["name", "provider", "permissions", "tools"]);
            for agent in reply.data::<Vec<Agent>>()? {
                table.row([
                    agent.name.as_str(),
                    agent.provider.as_str(),
                    agent.permission_mode.as_str(),
                    agent.allowed_tools.as_str(),
                ]);
            }
            ui.table(&table)
        }
        AgentsCommand::Show { agent, server } => {
            let reply = server
                .client()?
                .get(&format!("/api/agents/{}", segment(&agent)), &[])
                .await?;
            if server.print_json(ui, &reply)? {
                return Ok(());
            }
            let path = format!("/api/agents/{}/usage", segment(&agent));
            let used: UsageSum = server.client()?.get(&path, &[]).await?.data()?;
            let agent: Agent = reply.data()?;
            let mut lines = vec![
                format!("agent        {}", agent.name),
                format!("provider     {}", agent.provider.as_str()),
                format!("spec         {}", agent.spec_path),
                format!("permissions  {}", agent.permission_mode),
                format!("tools        {}", agent.allowed_tools),
            ];
            lines.extend(agent.model.map(|model| format!("model        {model}")));
            lines.extend(
                agent
                    .program
                    .map(|program| format!("program      {program}")),
            );
            lines.extend(usage(&used).map(|used| format!("used         {used}")));
            ui.line(printable(&lines.join("\n")))
        }
    }
}
