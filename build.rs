//! Builds the program again when a file of the web app is new.

fn main() {
    println!("cargo::rerun-if-changed=src/web/assets");
}
