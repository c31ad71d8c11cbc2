//! The web page on which a person decides on requests. It gets all its data from the public API.

mod serve;

pub use serve::{PATH, ROOT, policy, respond, routes};
