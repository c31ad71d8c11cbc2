//! `chorus agents`

use super::arguments::AgentsCommand;
use super::server::segment;
use super::ui::{Failure, Table, Ui, printable};
use crate::domain::Agent;

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
            let agent: Agent = reply.data()?;
            ui.line(printable(&format!(
                "agent        {}\nprovider     {}\nspec         {}\npermissions  {}\ntools        {}",
                agent.name,
                agent.provider.as_str(),
                agent.spec_path,
                agent.permission_mode,
                agent.allowed_tools,
            )))
        }
    }
}
