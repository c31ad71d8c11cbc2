//! The web page on which the operator decides on requests. It gets all its data from the public API.

mod serve;

pub use serve::{PATH, ROOT, policy, respond, routes};
