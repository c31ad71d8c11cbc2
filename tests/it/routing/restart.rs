//! Increments continue after the server is killed.

use serde_json::json;

use super::{create_increment, print_report, stage_lines, wait_until_done};
use crate::support::{Events, Sandbox, reserve_port};

#[tokio::test]
async fn an_increment_continues_after_a_kill_at_every_stage() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let gated_report = |result: &str, summary: &str| {
        format!(
            "read _ <'{}'; {}",
            gate.path().display(),
            print_report(result, summary)
        )
    };
    let tester = format!(
        "read _ <'{}'; if [ -e fixed ]; then {}; else {}; fi",
        gate.path().display(),
        print_report("passed", "Good"),
        print_report("failed", "Bad")
    );
    let sandbox = sandbox
        .with_specialist(
            "impl",
            "implementation",
            &[],
            &gated_report("passed", "Wrote it"),
        )
        .with_specialist("tess", "testing", &[], &tester)
        .with_specialist(
            "fixer",
            "fixing",
            &[],
            &format!("touch fixed; {}", gated_report("passed", "Mended it")),
        )
        .with_specialist(
            "vera",
            "verification",
            &[],
            &gated_report("passed", "As asked"),
        );
    let port = reserve_port();
    let mut server = sandbox.serve_with(2, &["--port", &port]);
    let id = create_increment(&server.client(), &json!({ "title": "Read dates" })).await;
    for agent in ["impl", "tess", "fixer", "tess", "vera"] {
        let client = server.client();
        let mut events = Events::listen(&client).await;
        let mut seen = 0;
        let wanted = sandbox
            .query("SELECT count(*) FROM handoffs WHERE completed_at IS NOT NULL")
            .parse::<usize>()
            .unwrap();
        while seen <= wanted {
            events.wait_for("run_started", "").await;
            seen += 1;
        }
        // The server is killed while the agent works. The agent ends without a server, and the next server records that.
        server.kill();
        gate.let_one_through();
        server = sandbox.serve_with(2, &["--port", &port]);
        let mut events = Events::listen(&server.client()).await;
        for _ in 0..=wanted {
            events.wait_for("agent_handoff_completed", "").await;
        }
        let last = sandbox.query("SELECT agent_name FROM handoffs WHERE completed_at IS NOT NULL ORDER BY completed_at DESC, number DESC LIMIT 1");
        assert_eq!(last, agent);
    }
    let increment = wait_until_done(&server.client(), &id).await;
    assert_eq!(
        stage_lines(&increment),
        [
            "implementation 1 completed impl",
            "test 1 failed tess",
            "verify 2 completed vera",
            "fix 2 completed fixer",
            "test 2 completed tess",
        ]
    );
    sandbox.assert_invariants();
}
