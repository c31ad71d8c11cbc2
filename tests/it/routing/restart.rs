//! Increments go on although the server dies.

use serde_json::json;

use super::{done, increment, report, stages};
use crate::support::{Events, Workshop, own_port};

#[tokio::test]
async fn an_increment_goes_on_after_the_server_was_killed_at_every_stage() {
    let workshop = Workshop::new();
    let gate = workshop.gate("gate");
    let slow = |result: &str, summary: &str| {
        format!(
            "read _ <'{}'; {}",
            gate.path().display(),
            report(result, summary)
        )
    };
    let tester = format!(
        "read _ <'{}'; if [ -e fixed ]; then {}; else {}; fi",
        gate.path().display(),
        report("passed", "Good"),
        report("failed", "Bad")
    );
    let workshop = workshop
        .specialist("impl", "implementation", &[], &slow("passed", "Wrote it"))
        .specialist("tess", "testing", &[], &tester)
        .specialist(
            "fixer",
            "fixing",
            &[],
            &format!("touch fixed; {}", slow("passed", "Mended it")),
        )
        .specialist("vera", "verification", &[], &slow("passed", "As asked"));
    let port = own_port();
    let mut server = workshop.serve_with(2, &["--port", &port]);
    let id = increment(&server.client(), &json!({ "title": "Read dates" })).await;
    for agent in ["impl", "tess", "fixer", "tess", "vera"] {
        let client = server.client();
        let mut events = Events::listen(&client).await;
        let mut seen = 0;
        let wanted = workshop
            .read("SELECT count(*) FROM handoffs WHERE completed_at IS NOT NULL")
            .parse::<usize>()
            .unwrap();
        while seen <= wanted {
            events.until("run_started", "").await;
            seen += 1;
        }
        // The agent works; the server dies; the agent ends while nobody is there; a new server finds out.
        server.kill();
        gate.let_one_through();
        server = workshop.serve_with(2, &["--port", &port]);
        let mut events = Events::listen(&server.client()).await;
        for _ in 0..=wanted {
            events.until("agent_handoff_completed", "").await;
        }
        let last = workshop.read("SELECT agent_name FROM handoffs WHERE completed_at IS NOT NULL ORDER BY completed_at DESC, number DESC LIMIT 1");
        assert_eq!(last, agent);
    }
    let shown = done(&server.client(), &id).await;
    assert_eq!(
        stages(&shown),
        [
            "implementation 1 completed impl",
            "test 1 failed tess",
            "verify 2 completed vera",
            "fix 2 completed fixer",
            "test 2 completed tess",
        ]
    );
    workshop.assert_invariants();
}
