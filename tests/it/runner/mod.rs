//! Agents that really run: real processes, scripted.

mod outcomes;
