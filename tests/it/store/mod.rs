//! The ledger and its database, without HTTP.

mod database;
mod mail;
mod requests;
