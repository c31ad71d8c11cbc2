//! Chorus: a hand-off server for coding agents.
//!
//! Read it in this order: [`domain`] (the nouns and rules), [`store`] (where they are kept).

pub mod clock;
pub mod domain;
pub mod store;
