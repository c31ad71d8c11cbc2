//! `chorus completions`

use crate::support::Chorus;

#[test]
fn there_is_a_script_for_every_usual_shell() {
    for (shell, mark) in [
        ("bash", "_chorus()"),
        ("zsh", "#compdef chorus"),
        ("fish", "complete -c chorus"),
    ] {
        let output = Chorus::new(["completions", shell]).output();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{shell}"
        );
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains(mark), "{shell}");
        for command in ["handoff", "migrate", "--data-dir"] {
            let name = command.trim_start_matches('-');
            assert!(script.contains(name), "{shell} {command}");
        }
    }
}

#[test]
fn bash_accepts_its_script() {
    let script = Chorus::new(["completions", "bash"]).output().stdout;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), script).unwrap();
    let status = std::process::Command::new("bash")
        .arg("-n")
        .arg(file.path())
        .status();
    assert!(status.unwrap().success());
}
