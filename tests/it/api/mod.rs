//! The API: every endpoint, shape and code. The tree mirrors the URLs.

mod agents;
mod alerts;
mod analytics;
mod attachments;
mod bodies;
mod dispatch;
mod docs;
mod events;
mod guard;
mod handoffs;
mod health;
mod idempotency;
mod ids;
mod mail;
mod messages;
mod paging;
mod queue;
mod requests;
mod routing;
mod sessions;
mod tasks;
mod tools;
mod waiting;
