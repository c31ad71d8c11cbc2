//! Settings of a benchmark from the command line and the environment.

use std::path::{Path, PathBuf};

use tokio::runtime::{Builder, Runtime};

/// Returns the selected sections, without the options that Cargo passes.
pub fn arguments() -> Vec<String> {
    std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect()
}

/// Whether a section is selected. Without arguments, all are.
pub fn is_selected(section: &str) -> bool {
    let asked = arguments();
    asked.is_empty() || asked.iter().any(|name| name == section)
}

/// Whether `CHORUS_BENCH_QUICK` selects small measurements.
pub fn is_quick() -> bool {
    std::env::var_os("CHORUS_BENCH_QUICK").is_some()
}

/// Returns a number from the environment, or the default.
pub fn setting(name: &str, default: usize) -> usize {
    match std::env::var(name) {
        Ok(number) => number
            .parse()
            .unwrap_or_else(|_| panic!("{name} must be a number")),
        Err(_) => default,
    }
}

/// Returns the path of a program from the environment.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os(name)?;
    let path = Path::new(&path).canonicalize();
    Some(path.unwrap_or_else(|error| panic!("{name} must be the path of a program: {error}")))
}

/// Creates a runtime with one thread for all clients, because they share the cores with the server.
pub fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be built")
}
