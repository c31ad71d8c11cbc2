//! The table `dispatch_routes`.

use crate::domain::{AgentName, Kind};
use crate::store::{Result, View, params, sql};

/// Lists the kinds of requests that go to an agent, in the order of dispatch.
pub fn kinds_of_agent(view: &View<'_>, agent: &AgentName) -> Result<Vec<Kind>> {
    view.rows(
        sql!("SELECT kind FROM dispatch_routes WHERE agent_name = $1 COLLATE NOCASE ORDER BY rank, kind"),
        params![agent],
        |row| row.get(0),
    )
}
