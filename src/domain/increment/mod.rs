//! Increments: work in stages of implementation, test, fix and verification.

mod id;
mod increment;
mod part;
mod stage;
mod state;

pub use id::IncrementId;
pub use increment::{Increment, IncrementTasks};
pub use part::IncrementPart;
pub use stage::{Stage, Step};
pub use state::IncrementState;
