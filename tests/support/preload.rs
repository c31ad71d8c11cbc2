//! Libraries that a test loads into processes before all others, compiled from C.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles `tests/support/NAME.c`.
pub fn compile(name: &str) -> PathBuf {
    let library =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.so", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/support")
        .join(format!("{name}.c"));
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .status();
    assert!(compiled.unwrap().success());
    library
}
