//! The ledger and its database, without HTTP.

mod database;
mod faults;
mod mail;
mod requests;
