//! Agents that really run: real processes, scripted.

mod outcomes;
mod scheduling;
mod stopping;
