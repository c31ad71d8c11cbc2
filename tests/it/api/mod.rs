//! The API: every endpoint, shape and code. The tree mirrors the URLs.

mod agents;
mod attachments;
mod bodies;
mod docs;
mod events;
mod guard;
mod handoffs;
mod health;
mod idempotency;
mod paging;
mod queue;
mod tasks;
mod waiting;
