//! The values of agents' environment variables enter an archive only if they are asked for.

use chorus::engine::archive::{ArchiveError, ExportOptions};
use serde_json::{Value, json};

use super::{export, import};
use crate::support::TestApp;

async fn with_secret() -> TestApp {
    let app = TestApp::new().await;
    let agent = json!({ "provider": "command", "program": "/bin/true", "environment": { "KEY": "secret", "LANG": "C" } });
    app.operator().put("/api/agents/mine", agent).await.data();
    app
}

async fn environment(app: &TestApp) -> Value {
    let agent = app.operator().get("/api/agents/mine").await;
    agent.data()["environment"].clone()
}

#[tokio::test]
async fn values_enter_an_archive_only_by_name() {
    let app = with_secret().await;
    let folder = tempfile::tempdir().unwrap();
    for (number, (named, expected)) in [
        (vec![], json!({ "KEY": null, "LANG": null })),
        (vec!["LANG"], json!({ "KEY": null, "LANG": "C" })),
        (vec!["KEY", "LANG"], json!({ "KEY": "secret", "LANG": "C" })),
    ]
    .into_iter()
    .enumerate()
    {
        let archive = folder.path().join(number.to_string());
        let options = ExportOptions {
            with_environment: named.iter().map(ToString::to_string).collect(),
        };
        app.engine.export(&archive, options, |_| {}).await.unwrap();
        let agent = std::fs::read(archive.join("agents/mine.json")).unwrap();
        let agent: Value = serde_json::from_slice(&agent).unwrap();
        assert_eq!(agent["environment"], expected);
        let files = std::process::Command::new("grep")
            .args(["-rl", "secret"])
            .arg(&archive)
            .output()
            .unwrap();
        assert_eq!(files.stdout.is_empty(), !named.contains(&"KEY"));
        // A new agent has the values that the archive has, and the others are named.
        let other = TestApp::unseeded().await;
        let report = import(&other, &archive, false).await.unwrap();
        assert_eq!(environment(&other).await, expected);
        let unset = report
            .without_value
            .iter()
            .map(|(_, unset)| unset.len())
            .sum::<usize>();
        assert_eq!(unset, 2 - named.len());
    }
    let options = ExportOptions {
        with_environment: ["NONE".to_owned()].into(),
    };
    let refused = app
        .engine
        .export(&folder.path().join("x"), options, |_| {})
        .await;
    assert!(matches!(refused, Err(ArchiveError::UnknownVariable(name)) if name == "NONE"));
    assert!(!folder.path().join("x").exists());
}

#[tokio::test]
async fn an_import_without_values_keeps_those_of_an_agent_that_exists() {
    let app = with_secret().await;
    let (_folder, archive) = export(&app).await;
    let report = import(&app, &archive, false).await.unwrap();
    assert_eq!((report.imported.agents, report.without_value), (0, vec![]));
    assert_eq!(
        environment(&app).await,
        json!({ "KEY": "secret", "LANG": "C" })
    );
    // Another value in the archive is another configuration.
    let path = archive.join("agents/mine.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"KEY\": null", "\"KEY\": \"other\"")).unwrap();
    let Err(ArchiveError::Bad(bad)) = import(&app, &archive, false).await else {
        panic!("the agent was replaced");
    };
    assert!(bad[0].to_string().contains("different configuration"));
    assert!(!bad[0].to_string().contains("other"));
}

#[tokio::test]
async fn agents_that_the_api_refuses_are_not_imported() {
    let app = with_secret().await;
    for (key, value, reason) in [
        (
            "environment",
            json!({ "CHORUS_TOKEN": "x" }),
            "CHORUS_TOKEN is reserved",
        ),
        (
            "environment",
            json!({ "CHORUS_URL": null }),
            "CHORUS_URL is reserved",
        ),
        (
            "environment",
            json!({ "A=B": "x" }),
            "is not a valid variable name",
        ),
        (
            "environment",
            json!({ "": "x" }),
            "is not a valid variable name",
        ),
        ("specPath", json!("../secret.md"), "without `..`"),
        ("specPath", json!("/etc/secret.md"), "without `..`"),
        ("specPath", json!("/etc/passwd"), "must be a Markdown file"),
        (
            "program",
            Value::Null,
            "is required for the provider command",
        ),
        ("maxSeconds", json!(0), "must be 1 to"),
    ] {
        let (_folder, archive) = export(&app).await;
        let path = archive.join("agents/mine.json");
        let mut agent: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        agent[key] = value;
        std::fs::write(&path, agent.to_string()).unwrap();
        let other = TestApp::unseeded().await;
        let Err(ArchiveError::Bad(bad)) = import(&other, &archive, false).await else {
            panic!("{key}: the agent was imported");
        };
        let bad = bad[0].to_string();
        assert!(
            bad.starts_with("agents/mine.json: ") && bad.contains(reason),
            "{reason}: {bad}"
        );
        assert_eq!(other.get("/api/agents").await.data(), json!([]));
    }
}
