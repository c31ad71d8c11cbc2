//! The page: what a person opens in a browser to decide over requests. It asks the API, as anybody does, and knows nothing else.

mod serve;

pub use serve::{PATH, routes};
