//! Errors about arguments, in the words of the command line.

use insta::assert_snapshot;

use super::Desk;

#[tokio::test]
async fn a_field_of_the_api_is_called_by_its_argument() {
    let desk = Desk::open().await;
    let task = desk.make(["task", "create", "Write the parser"]).await;
    assert_snapshot!(desk.run(["task", "create", " "]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: DESCRIPTION: must not be empty
    ");
    assert_snapshot!(desk.run(["handoff", &task, "qa", " "]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: PROMPT: must not be empty
    ");
    assert_snapshot!(desk.run(["agent", "create", "x", "--spec", "/etc/../x\u{1}"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: --spec: must be a Markdown file below the data directory, such as agents/x.md; --spec: Spec /etc/../x� of agent x must be a path relative to the data directory, without `..`
    ");
    assert_snapshot!(desk.run(["agent", "create", "x", "--max-seconds", "0"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: --max-seconds: must be 1 to 31536000; use null for the server's limit; --spec: Spec agents/x.md of agent x does not exist; create <tmp>/agents/x.md
    ");
}
