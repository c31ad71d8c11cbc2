//! Callers: who may do what, with and without a token.

mod matrix;
mod runs;
mod users;
