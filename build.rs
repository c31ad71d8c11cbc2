//! Rebuilds when a file is added to an embedded folder, which cargo would not notice by itself.

fn main() {
    for folder in ["migrations", "agents", "seeds"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
