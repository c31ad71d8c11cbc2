//! What a benchmark is told by its command line and the environment.

use std::path::{Path, PathBuf};

use tokio::runtime::{Builder, Runtime};

/// Returns what is asked for, without what Cargo itself passes.
pub fn arguments() -> Vec<String> {
    std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect()
}

/// Tells whether a section is asked for: all are, if none is named.
pub fn is_asked(section: &str) -> bool {
    let asked = arguments();
    asked.is_empty() || asked.iter().any(|name| name == section)
}

/// Reads whether `CHORUS_BENCH_QUICK` asks for small measurements.
pub fn is_quick() -> bool {
    std::env::var_os("CHORUS_BENCH_QUICK").is_some()
}

/// Returns a number that the environment may set.
pub fn setting(name: &str, otherwise: usize) -> usize {
    match std::env::var(name) {
        Ok(number) => number
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number")),
        Err(_) => otherwise,
    }
}

/// Returns a program that the environment may name.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os(name)?;
    let path = Path::new(&path).canonicalize();
    Some(path.unwrap_or_else(|error| panic!("{name} is the path of a program: {error}")))
}

/// Makes one thread for all clients: they share the cores with the server and should not crowd it out.
pub fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built")
}
