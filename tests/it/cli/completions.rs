//! `chorus completions`, and the questions that its scripts ask.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use chorus::engine::default_kind_rules;
use serde_json::json;

use super::Desk;
use crate::support::{Chorus, reserve_port};

#[test]
fn every_usual_shell_has_a_script() {
    for (shell, mark) in [
        ("bash", "_clap_complete_chorus()"),
        ("zsh", "#compdef chorus"),
        ("fish", "complete --keep-order --exclusive --command chorus"),
    ] {
        let output = Chorus::new(["completions", shell]).output();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{shell}"
        );
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(
            script.contains(mark) && script.contains("CHORUS_COMPLETE"),
            "{shell}\n{script}"
        );
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

/// Asks as the script of fish does. Returns one line per value, without options: the value, a tab and its description.
fn ask<'a>(url: &str, words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let words = ["--", "chorus"].into_iter().chain(words);
    let command = Chorus::new(words).env("CHORUS_COMPLETE", "fish");
    let output = command.env("CHORUS_URL", url).output();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let shown = String::from_utf8(output.stdout).unwrap();
    let lines = shown.lines().filter(|line| !line.starts_with("--"));
    lines.map(str::to_owned).collect()
}

/// Returns the values alone.
fn values(lines: &[String]) -> Vec<&str> {
    lines
        .iter()
        .map(|line| line.split('\t').next().unwrap())
        .collect()
}

#[tokio::test]
async fn ids_are_offered_newest_first_with_their_titles() {
    let desk = Desk::open().await;
    let first = desk.make(["task", "create", "Write the parser"]).await;
    let second = desk.make(["task", "create", "Test the parser"]).await;
    let handoff = desk
        .make(["handoff", &first, "qa", "Look at it", "--no-wait"])
        .await;
    let ask = |words: Vec<String>| {
        let url = desk.url.clone();
        async move {
            let asked = move || ask(&url, words.iter().map(String::as_str));
            tokio::task::spawn_blocking(asked).await.unwrap()
        }
    };
    let words = |line: &str| {
        line.split(' ')
            .map(|word| word.trim_matches('_').to_owned())
            .collect::<Vec<_>>()
    };
    let tasks = [
        format!("{second}\tTest the parser"),
        format!("{first}\tWrite the parser"),
    ];
    assert_eq!(ask(words("task show _")).await, tasks);
    assert_eq!(ask(words("task edit _")).await, tasks);
    assert_eq!(ask(words("task create d --depends-on _")).await, tasks);
    assert_eq!(
        ask(words(&format!("task show {}", &first[..first.len() - 1]))).await,
        tasks[1..]
    );
    assert_eq!(
        ask(words(&format!("task show {}", first.to_uppercase()))).await,
        tasks[1..]
    );
    assert_eq!(
        ask(words("log _")).await[0],
        format!("{handoff}\tqa: Look at it")
    );
    assert_eq!(ask(words("request show _")).await, [""; 0]);
}

#[tokio::test]
async fn names_and_fixed_values_are_offered() {
    let desk = Desk::open().await;
    let seeded = desk.app.engine.seed_kind_rules(default_kind_rules());
    seeded.await.unwrap();
    let url = desk.url.clone();
    let seen = tokio::task::spawn_blocking(move || {
        [
            &["handoff", "x", "d"][..],
            &["agent", "show", "q"],
            &["mail", "send", "op"],
            &["task", "status", "x", "c"],
            &["request", "list", "--kind", "imp"],
            &["ta"],
        ]
        .map(|words| values(&ask(&url, words.iter().copied())).join(" "))
    });
    let expected = [
        "developer developer-review",
        "qa",
        "operator",
        "completed",
        "implementation",
        "task tag",
    ];
    assert_eq!(seen.await.unwrap(), expected);
}

#[test]
fn a_server_that_is_away_or_silent_offers_nothing_and_does_not_hold_up_the_shell() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for address in [
        format!("127.0.0.1:{}", reserve_port()),
        silent.local_addr().unwrap().to_string(),
    ] {
        let started = Instant::now();
        assert_eq!(
            ask(&format!("http://{address}"), ["task", "show", ""]),
            [""; 0]
        );
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}

/// The whole way: the script in bash, which asks the real program.
#[tokio::test]
async fn bash_completes_an_id() {
    let desk = Desk::open().await;
    let task = desk.make(["task", "create", "Write the parser"]).await;
    let typed = task[..9].to_owned();
    let url = desk.url.clone();
    let seen = tokio::task::spawn_blocking(move || {
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_chorus"));
        let path = format!(
            "{}:{}",
            program.parent().unwrap().display(),
            std::env::var("PATH").unwrap()
        );
        let script = format!(
            "source <(chorus completions bash)
             COMP_WORDS=(chorus task show {typed}) COMP_CWORD=3 COMP_TYPE=9
             _clap_complete_chorus chorus {typed} show
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut bash = std::process::Command::new("bash");
        bash.args(["-c", &script])
            .env("PATH", path)
            .env("CHORUS_URL", url);
        bash.output().unwrap()
    });
    let seen = seen.await.unwrap();
    assert_eq!(
        String::from_utf8_lossy(&seen.stdout).trim(),
        task,
        "{seen:?}"
    );
}

/// Types lines into an interactive bash in a folder, and returns the arguments that `chorus` then got, one per line. A tab completes.
async fn type_into_bash(url: &str, folder: &Path, typed: &[&str]) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_chorus")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let lines = [
        "source <(command chorus completions bash)",
        r#"chorus() { if [ "$CHORUS_COMPLETE" ]; then command chorus "$@"; else printf '%s\n' "$@" >> .seen; fi; }"#,
    ];
    let lines = lines.iter().chain(typed).chain(&["exit 0", ""]);
    let input = lines.copied().collect::<Vec<_>>().join("\n");
    let mut bash = std::process::Command::new("script");
    bash.args(["-qec", "bash --norc --noprofile -i", "/dev/null"])
        .current_dir(folder)
        .envs([("PATH", path.as_str()), ("CHORUS_URL", url)])
        .envs([("INPUTRC", "/dev/null"), ("HISTFILE", ""), ("TERM", "dumb")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let shown = tokio::task::spawn_blocking(move || {
        let mut bash = bash.spawn().unwrap();
        let mut keyboard = bash.stdin.take().unwrap();
        keyboard.write_all(input.as_bytes()).unwrap();
        let output = bash.wait_with_output().unwrap();
        drop(keyboard);
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    let shown = shown.await.unwrap();
    std::fs::read_to_string(folder.join(".seen")).expect(&shown)
}

/// A run may create sessions, and so choose the words that the operator's shell is offered.
#[tokio::test]
async fn a_value_with_characters_of_a_shell_is_not_offered() {
    let desk = Desk::open().await;
    for session in [
        "chat-7;touch pwned",
        "chat-$(touch pwned)",
        "chat-8:+49@web/1.x_é",
        "chat *",
        "-chat",
    ] {
        let path = format!("/api/sessions/{}/handoffs", encoded(session));
        let input = json!({
            "fromAgent": "developer", "toAgent": "qa", "reason": "r", "userIntent": "i", "conversationHistory": [], "invoke": false,
        });
        desk.app.post(&path, input).await.data();
    }
    let url = desk.url.clone();
    let offered = tokio::task::spawn_blocking(move || ask(&url, ["session", "show", ""]));
    assert_eq!(offered.await.unwrap(), ["chat-8:+49@web/1.x_é"]);

    let folder = tempfile::tempdir().unwrap();
    let typed = [
        "chorus session show chat-7\t",
        "chorus session show chat-8\t",
    ];
    let seen = type_into_bash(&desk.url, folder.path(), &typed).await;
    assert_eq!(
        seen.lines().collect::<Vec<_>>(),
        [
            "session",
            "show",
            "chat-7",
            "session",
            "show",
            "chat-8:+49@web/1.x_é"
        ]
    );
    assert!(!folder.path().join("pwned").exists());
}

fn encoded(text: &str) -> String {
    let bytes = text.bytes().map(|byte| format!("%{byte:02X}"));
    bytes.collect::<Vec<_>>().concat()
}

#[tokio::test]
async fn bash_quotes_the_names_of_files() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a b.md", "c;touch pwned.md", "plain.md"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let typed = [
        "chorus tag add a\t",
        "chorus tag add c\t",
        "chorus tag find --tag x p\t",
        "chorus mail send qa --body-file p\t",
    ];
    let away = format!("http://127.0.0.1:{}", reserve_port());
    let seen = type_into_bash(&away, folder.path(), &typed).await;
    assert_eq!(
        seen,
        "tag\nadd\na b.md\ntag\nadd\nc;touch pwned.md\ntag\nfind\n--tag\nx\nplain.md\nmail\nsend\nqa\n--body-file\nplain.md\n"
    );
    assert!(!folder.path().join("pwned.md").exists());
}

#[test]
fn fish_is_offered_the_names_of_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a b.md"), "").unwrap();
    let command = Chorus::new(["--", "chorus", "tag", "add", "a"]).env("CHORUS_COMPLETE", "fish");
    let output = command.current_dir(folder.path()).output();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "a b.md");
}
