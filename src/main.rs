//! The program `chorus`.

fn main() -> std::process::ExitCode {
    chorus::cli::main()
}
