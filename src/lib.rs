//! Chorus: a hand-off server for coding agents. `docs/architecture.md` walks through the code; this is the map.
//!
//! Read from the bottom up:
//!
//! 1. [`domain`]: nouns, state machines and pure rules; [`words`] has the sentences about them.
//! 2. [`store`]: the database, its transactions and its tables.
//! 3. [`ledger`]: every rule that reads or writes, one transaction each. Start with [`ledger::handoff`] and [`ledger::reactions`].
//! 4. [`peer`]: the process at the other end of a connection. [`runner`] and [`supervisor`]: how agents run, and the process that holds one. [`tags`]: tags in Markdown files.
//! 5. [`engine`]: operations that need more than one transaction.
//! 6. [`api`] and [`web`]: HTTP and the page; [`client`] and [`cli`]: the HTTP client and the command line.
//!
//! Everywhere: [`clock`] (the only source of time), [`config`] (limits and the data directory), [`Error`], [`memory`] (the
//! allocator), [`secret`] (tokens), [`telemetry`] (logs, metrics, spans).

pub mod api;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
pub mod domain;
pub mod engine;
mod error;
pub mod ledger;
mod memory;
pub mod peer;
pub mod runner;
pub mod secret;
pub mod store;
pub mod supervisor;
pub mod tags;
pub mod telemetry;
pub mod web;
pub mod words;

pub use error::Error;
