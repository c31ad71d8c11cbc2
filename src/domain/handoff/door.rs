//! Doors: the five ways to start a hand-off.

use crate::domain::text::wire_enum::wire_enum;

wire_enum! {
    /// The way in which a hand-off was started.
    #[derive(Default)]
    #[schema(as = Mode)]
    pub enum Door {
        /// The caller waits for the final message.
        #[default]
        Delegate = "delegate",
        /// The caller's task completes, and a child task continues.
        Transfer = "transfer",
        /// The operator approved a request, and the dispatcher started it.
        Request = "request",
        /// The router chose the agent by the role of the task.
        Route = "route",
        /// A conversation moved to another agent.
        Session = "session",
    }
}
