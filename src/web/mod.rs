//! The web app: a page with its scripts and styles. It gets all its data from the public API.

mod assets;
mod serve;

pub use assets::Assets;
pub use serve::{ASSETS_HEADER, PAGE, is_open, policy, respond, routes};
