//! Embedded folders are inputs of the build: a file that is added to one of them must be noticed.

fn main() {
    for folder in ["migrations", "agents", "seeds"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
