//! Agents that really run: real processes, scripted.

mod adoption;
mod agents;
mod demo;
mod nested;
mod outcomes;
mod providers;
mod reading;
mod scheduling;
mod script;
mod sessions;
mod stopping;
mod transfers;
