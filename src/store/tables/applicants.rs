//! The columns of the table `agents` that the router needs.

use crate::domain::{AgentName, Provider, Role, Skill};
use crate::store::{FromRow, Json, Result, Statement, View, columns, params, sql};

columns! {
    pub struct ApplicantRow {
        pub name: AgentName = "name",
        pub available: bool = "available",
        pub roles: Json<Vec<Role>> = "roles",
        pub skills: Json<Vec<Skill>> = "skills",
        pub program: Option<String> = "program",
        pub provider: Provider = "provider",
    }
}

/// Lists all agents, or those that have a role.
pub fn list(view: &View<'_>, role: Option<&Role>) -> Result<Vec<ApplicantRow>> {
    const WITH_ROLE: Statement<1> = sql!(
        "SELECT ",
        ApplicantRow::COLUMNS,
        " FROM agents WHERE $1 IS NULL OR instr(roles, $1) > 0"
    );
    // A role consists of lower-case letters, so in JSON its quoted form occurs only as a whole element.
    let role = role.map(|role| format!("\"{role}\""));
    view.rows(WITH_ROLE, params![role], ApplicantRow::from_row)
}
