//! `chorus agents`

use insta::assert_snapshot;

use super::Desk;

#[tokio::test]
async fn agents_are_listed_and_shown() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["agents", "list"]).await, @"
    exit 0
    --- stdout
    developer	claude-code	bypassPermissions	Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(*)
    developer-review	claude-code	bypassPermissions	Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(*)
    orchestrator	claude-code	bypassPermissions	Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *)
    planner	claude-code	bypassPermissions	Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *)
    qa	claude-code	bypassPermissions	Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *) Bash(*)
    --- stderr
    ");
    assert_snapshot!(desk.run(["agents", "show", "planner"]).await, @"
    exit 0
    --- stdout
    agent        planner
    provider     claude-code
    spec         agents/planner.md
    permissions  bypassPermissions
    tools        Read Edit Write Glob Grep Bash(chorus *) Bash(scripts/agent/handoff.sh *)
    --- stderr
    ");
    assert_snapshot!(desk.run(["agents", "show", "no/body"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Agent not found: no/body
    ");
}
