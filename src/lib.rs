//! Chorus: a hand-off server for coding agents.
//!
//! Read it in this order: [`domain`] (the nouns and rules), [`store`] (where they are kept), [`engine`] (the verbs), [`api`] (the HTTP door),
//! [`web`] (the page), [`client`] (the API from the other side), [`cli`] (the command line).

pub mod api;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
pub mod domain;
pub mod engine;
mod error;
pub mod ledger;
pub mod runner;
pub mod secret;
pub mod store;
pub mod supervisor;
pub mod tags;
pub mod telemetry;
pub mod web;
pub mod words;

pub use error::Error;
