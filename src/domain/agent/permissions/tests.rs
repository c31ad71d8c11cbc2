//! Tests of permissions.

use serde_json::json;

use super::*;
use crate::domain::AgentChange;

fn problems(provider: &str, mode: &str, tools: &str) -> String {
    let json = json!({ "provider": provider, "permissionMode": mode, "allowedTools": tools });
    let change: AgentChange = serde_json::from_value(json).unwrap();
    let agent = change.into_new("mine".parse().unwrap());
    Permissions::of(&agent)
        .err()
        .unwrap_or_default()
        .to_string()
}

#[test]
fn what_a_provider_cannot_carry_out_is_named_with_a_way_out() {
    for (provider, mode, tools, problem) in [
        (
            "codex",
            "workspace-write",
            "",
            "permissionMode: codex has no mode \"workspace-write\"; use default, acceptEdits, dontAsk, plan or bypassPermissions",
        ),
        (
            "claude-code",
            "yolo",
            "",
            "permissionMode: claude-code has no mode \"yolo\"; use default, acceptEdits, dontAsk, plan, bypassPermissions, auto or manual",
        ),
        (
            "codex",
            "default",
            "Read Bash(git *)",
            "allowedTools: codex cannot limit an agent to certain commands, because its sandbox limits the effects of all commands; add Bash, or use another provider",
        ),
        (
            "opencode",
            "default",
            "Read(src/**) mcp__files",
            "allowedTools: opencode cannot limit Read to Read(src/**); use Read; allowedTools: opencode has no tool like mcp__files; remove it",
        ),
        (
            "gemini",
            "acceptEdits",
            "Bash(npm run * --fix)",
            "allowedTools: gemini cannot limit commands to Bash(npm run * --fix); use the form Bash(PREFIX *)",
        ),
    ] {
        assert_eq!(problems(provider, mode, tools), problem);
    }
}

#[test]
fn everything_else_is_carried_out() {
    for (provider, mode, tools) in [
        (
            "claude-code",
            "auto",
            "mcp__files Read(src/**) Bash(npm run * --fix)",
        ),
        ("command", "anything", "at all"),
        ("codex", "", ""),
        ("codex", "plan", ""),
        ("codex", "bypassPermissions", "Bash(git *) mcp__files"),
        (
            "opencode",
            "dontAsk",
            "Read Edit(./**) Task TodoWrite Bash(git log:*)",
        ),
        (
            "gemini",
            "acceptEdits",
            "Read Write WebFetch Bash(*) Bash(npm run * --fix)",
        ),
    ] {
        assert_eq!(
            problems(provider, mode, tools),
            "",
            "{provider} {mode} {tools}"
        );
    }
}
