//! Help after "not found".

use insta::assert_snapshot;

use super::Desk;

#[tokio::test]
async fn an_id_of_another_noun_is_recognised() {
    let desk = Desk::open().await;
    let task = desk.make(["task", "create", "Write the parser"]).await;
    let handoff = desk
        .make(["handoff", &task, "qa", "Look at it", "--no-wait"])
        .await;
    let request = desk
        .make(["request", "create", "Faster", "--kind", "fix"])
        .await;
    assert_snapshot!(desk.run(["task", "show", &handoff]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: <id 1>
    hint: <id 1> is a hand-off, not a task; see `chorus log <id 1>`
    ");
    assert_snapshot!(desk.run(["request", "show", &task]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Request not found: <id 1>
    hint: <id 1> is a task, not a request; see `chorus task show <id 1>`
    ");
    let end = &request[28..];
    let seen = desk.run(["increment", "show", end]).await;
    assert_snapshot!(seen.replace(end, "<end>"), @"
    exit 3
    --- stdout
    --- stderr
    error: Increment not found: <end>
    hint: <end> is a request, not an increment; see `chorus request show <end>`
    ");
}

#[tokio::test]
async fn the_arguments_of_a_handoff_may_be_swapped_by_mistake() {
    let desk = Desk::open().await;
    let task = desk.make(["task", "create", "Write the parser"]).await;
    assert_snapshot!(desk.run(["handoff", "developer", &task, "Write it"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Task not found: developer
    hint: developer is an agent, not a task; `chorus handoff TASK AGENT PROMPT` names the task first
    ");
    assert_snapshot!(desk.run(["handoff", "qa", &task, "Test it"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: qa is too short for an id: use at least 4 characters
    hint: qa is an agent, not a task; `chorus handoff TASK AGENT PROMPT` names the task first
    ");
}

#[tokio::test]
async fn a_mistyped_name_is_corrected() {
    let desk = Desk::open().await;
    let task = desk.make(["task", "create", "Write the parser"]).await;
    assert_snapshot!(desk.run(["handoff", &task, "develper", "Write it"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Unknown agent: develper
    hint: known agents: developer, developer-review, orchestrator, planner, qa
    hint: did you mean developer?
    ");
    assert_snapshot!(desk.run(["agent", "show", "planer"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Agent not found: planer
    hint: did you mean planner?
    ");
    assert_snapshot!(desk.run(["tool", "show", "call_qa"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Tool not found: call_qa
    hint: `chorus tool list` lists the tools
    ");
}

#[tokio::test]
async fn an_unknown_name_is_an_error_and_not_an_empty_list() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["mail", "inbox", "ghost"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Agent not found: ghost
    hint: `chorus agent list` lists the agents
    ");
    assert_snapshot!(desk.run(["mail", "inbox", "qa"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    assert_snapshot!(desk.run(["mail", "inbox", "operator"]).await, @"
    exit 0
    --- stdout
    --- stderr
    ");
    assert_snapshot!(desk.run(["stats", "--agent", "ghost"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Agent not found: ghost
    hint: `chorus agent list` lists the agents
    ");
    assert_snapshot!(desk.run(["session", "count", "ghost"]).await, @"
    exit 3
    --- stdout
    --- stderr
    error: Session not found: ghost
    hint: `chorus session list` lists the sessions
    ");
    assert_snapshot!(desk.run(["request", "list", "--kind", "fixx"]).await, @"
    exit 0
    --- stdout
    --- stderr
    no agent handles requests of kind fixx; name one with `chorus request kinds --set FILE`
    ");
}
