//! Carries out an agent's permissions with the settings of its provider.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::domain::{
    Agent, AllowedTool, Cell, Commands, Grant, OWN_COMMANDS, Permissions, Problems, Provider,
    allowed_tools, permission_cell, permission_mode, permitted_tools,
};

/// The settings that carry out an agent's permissions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    pub arguments: Vec<String>,
    /// The permissions of OpenCode, as JSON.
    pub json: Option<String>,
    /// The policy of Gemini, as TOML.
    pub policy: Option<String>,
    /// Whether the agent may do all that its user may.
    pub everything: bool,
}

/// Returns the settings of an agent. The problems name the words that its provider cannot carry out.
pub fn settings(agent: &Agent) -> Result<Settings, Problems> {
    let permissions = Permissions::of(agent)?;
    if agent.provider == Provider::ClaudeCode {
        return Ok(claude_code(agent, permissions.everything));
    }
    Ok(translate(agent.provider, &permissions))
}

/// Gives Claude Code its own words, and Bash for `chorus`.
fn claude_code(agent: &Agent, everything: bool) -> Settings {
    let tools = permitted_tools(agent);
    let parsed = allowed_tools(tools);
    let mut names: Vec<&str> = Vec::new();
    let of_agent = parsed.iter().map(|tool: &AllowedTool| tool.name.as_str());
    for name in of_agent.chain(["Bash"]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut allowed = tools.to_owned();
    let has_all = parsed
        .iter()
        .any(|tool| ["Bash", "Bash(*)"].contains(&tool.to_string().as_str()));
    for command in OWN_COMMANDS {
        let rule = format!("Bash({command} *)");
        if !everything && !has_all && !allowed.contains(&rule) {
            allowed.push(' ');
            allowed.push_str(&rule);
        }
    }
    // Without Bash among its tools, an agent that bypasses permissions may run `chorus` and no other command.
    let mode = match permission_mode(agent) {
        "bypassPermissions" if !everything => "dontAsk",
        mode => mode,
    };
    let arguments = [
        "--tools",
        &names.join(","),
        "--allowedTools",
        &allowed,
        "--permission-mode",
        mode,
    ];
    Settings {
        arguments: arguments.map(str::to_owned).into(),
        everything,
        ..Settings::default()
    }
}

fn translate(provider: Provider, permissions: &Permissions) -> Settings {
    let mut settings = Settings {
        everything: permissions.everything,
        ..Settings::default()
    };
    let mut json = Map::new();
    let mut rules = Vec::new();
    let mut approval = "";
    for grant in grants(permissions) {
        match permission_cell(provider, grant) {
            // A later grant includes the earlier ones.
            Cell::Arguments(arguments) => {
                settings.arguments = arguments.iter().map(|&word| word.to_owned()).collect();
            }
            Cell::Json(text) => {
                for text in filled(grant, text, permissions) {
                    let more = serde_json::from_str(&text).expect("the table has valid JSON");
                    merge(&mut json, more);
                }
            }
            Cell::Policy {
                mode,
                tools,
                prefix,
                decision,
            } => {
                if !mode.is_empty() {
                    approval = mode;
                }
                for prefix in filled(grant, prefix, permissions) {
                    rules.extend(tools.iter().map(|&tool| Rule {
                        tool,
                        prefix: prefix.clone(),
                        decision,
                    }));
                }
            }
            Cell::Words(_) | Cell::Always | Cell::Refused => {}
        }
    }
    if !json.is_empty() {
        let own = OWN_COMMANDS.map(|command| (format!("{command} *"), "allow".into()));
        let own = Map::from_iter([("bash".to_owned(), Value::Object(Map::from_iter(own)))]);
        merge(&mut json, own);
        settings.json = Some(Value::Object(json).to_string());
    }
    if !approval.is_empty() {
        settings.arguments = vec!["--approval-mode".to_owned(), approval.to_owned()];
        settings.policy = Some(policy(rules));
    }
    settings
}

/// Lists the grants in the order in which they are carried out.
fn grants(permissions: &Permissions) -> Vec<Grant> {
    if permissions.everything {
        return vec![Grant::Everything];
    }
    let has = |grant: &Grant| match grant {
        Grant::Read => true,
        Grant::Edit => permissions.edit,
        Grant::Prefix => permissions.commands != Commands::Any,
        Grant::Command => permissions.commands == Commands::Any,
        Grant::Network => permissions.network,
        Grant::Everything => false,
    };
    Grant::ALL.into_iter().filter(has).collect()
}

/// Puts each prefix of the agent in place of `PREFIX`.
fn filled(grant: Grant, text: &str, permissions: &Permissions) -> Vec<String> {
    match &permissions.commands {
        Commands::Prefixes(prefixes) if grant == Grant::Prefix => prefixes
            .iter()
            .map(|prefix| text.replace("PREFIX", prefix))
            .collect(),
        _ => vec![text.to_owned()],
    }
}

fn merge(into: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(value)) => merge(known, value),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// A rule of Gemini's policy.
struct Rule {
    tool: &'static str,
    prefix: String,
    decision: &'static str,
}

/// Writes a policy of Gemini. A later rule wins over an earlier one.
fn policy(mut rules: Vec<Rule>) -> String {
    rules.extend(OWN_COMMANDS.map(|command| Rule {
        tool: "run_shell_command",
        prefix: command.to_owned(),
        decision: "allow",
    }));
    let mut text = String::new();
    for (place, rule) in rules.iter().enumerate() {
        let prefix = if rule.prefix.is_empty() {
            String::new()
        } else {
            format!("commandPrefix = \"{}\"\n", rule.prefix)
        };
        // Gemini knows priorities up to 999.
        let priority = (100 + place).min(999);
        write!(
            text,
            "[[rule]]\ntoolName = \"{}\"\n{prefix}decision = \"{}\"\npriority = {priority}\n\n",
            rule.tool, rule.decision
        )
        .expect("a string takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::AgentChange;

    fn agent(provider: &str, mode: &str, tools: &str) -> Agent {
        let json = json!({ "provider": provider, "permissionMode": mode, "allowedTools": tools });
        let change: AgentChange = serde_json::from_value(json).unwrap();
        change.into_new("mine".parse().unwrap())
    }

    fn of(provider: &str, mode: &str, tools: &str) -> Settings {
        settings(&agent(provider, mode, tools)).unwrap()
    }

    #[test]
    fn claude_code_gets_its_words_and_can_always_run_chorus() {
        for (mode, tools, expected) in [
            (
                "plan",
                "Read Bash(git log *)",
                [
                    "Read,Bash",
                    "Read Bash(git log *) Bash(chorus *) Bash(scripts/agent/handoff.sh *)",
                    "plan",
                ],
            ),
            (
                "acceptEdits",
                "Read Edit",
                [
                    "Read,Edit,Bash",
                    "Read Edit Bash(chorus *) Bash(scripts/agent/handoff.sh *)",
                    "acceptEdits",
                ],
            ),
            ("default", "Bash", ["Bash", "Bash", "default"]),
            (
                "bypassPermissions",
                "Read Bash(chorus *)",
                ["Read,Bash", "Read Bash(chorus *)", "bypassPermissions"],
            ),
            (
                "bypassPermissions",
                "Read",
                [
                    "Read,Bash",
                    "Read Bash(chorus *) Bash(scripts/agent/handoff.sh *)",
                    "dontAsk",
                ],
            ),
        ] {
            let arguments = of("claude-code", mode, tools).arguments;
            let values: Vec<_> = arguments.iter().skip(1).step_by(2).collect();
            assert_eq!(values, expected, "{mode} {tools}");
        }
    }

    #[test]
    fn codex_has_a_sandbox_with_network_in_every_mode() {
        let read = of("codex", "plan", "Read Edit Bash").arguments.join(" ");
        assert!(
            read.contains("{\":root\"=\"read\"}") && read.contains("network={enabled=true}"),
            "{read}"
        );
        let edit = [
            "-s",
            "workspace-write",
            "-c",
            "sandbox_workspace_write.network_access=true",
        ];
        assert_eq!(of("codex", "acceptEdits", "").arguments, edit);
        assert_eq!(of("codex", "default", "Read Edit Bash").arguments, edit);
        let all = ["-s", "danger-full-access"];
        assert_eq!(of("codex", "", "").arguments, all);
        assert_eq!(
            of("codex", "bypassPermissions", "Bash(git *)").arguments,
            all
        );
    }

    #[test]
    fn opencode_gets_one_object_in_which_the_later_pattern_is_the_more_special_one() {
        let json = |mode, tools| {
            let settings = of("opencode", mode, tools);
            assert_eq!(settings.arguments, [""; 0]);
            settings.json.unwrap()
        };
        assert_eq!(
            json("default", "Read Bash(git diff *) Bash(chorus *)"),
            r#"{"edit":"deny","external_directory":"deny","webfetch":"deny","websearch":"deny","bash":{"*":"deny","git diff *":"allow","chorus *":"allow","scripts/agent/handoff.sh *":"allow"}}"#
        );
        assert_eq!(
            json("acceptEdits", "Read Edit(./**) WebFetch Bash"),
            r#"{"edit":"allow","external_directory":"deny","webfetch":"allow","websearch":"allow","bash":{"*":"allow","chorus *":"allow","scripts/agent/handoff.sh *":"allow"}}"#
        );
        assert_eq!(of("opencode", "", "").arguments, ["--auto"]);
        assert_eq!(of("opencode", "", "").json, None);
    }

    #[test]
    fn gemini_gets_a_policy_in_which_the_later_rule_wins() {
        let settings = of("gemini", "default", "Read Edit Bash(git diff *)");
        assert_eq!(settings.arguments, ["--approval-mode", "auto_edit"]);
        let policy = settings.policy.unwrap();
        let shown: Vec<_> = policy
            .split_terminator("\n\n")
            .map(|rule| rule.lines().skip(1).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            shown,
            [
                r#"toolName = "write_file" decision = "deny" priority = 100"#,
                r#"toolName = "replace" decision = "deny" priority = 101"#,
                r#"toolName = "run_shell_command" decision = "deny" priority = 102"#,
                r#"toolName = "web_fetch" decision = "deny" priority = 103"#,
                r#"toolName = "google_web_search" decision = "deny" priority = 104"#,
                r#"toolName = "write_file" decision = "allow" priority = 105"#,
                r#"toolName = "replace" decision = "allow" priority = 106"#,
                r#"toolName = "run_shell_command" commandPrefix = "git diff" decision = "allow" priority = 107"#,
                r#"toolName = "run_shell_command" commandPrefix = "chorus" decision = "allow" priority = 108"#,
                r#"toolName = "run_shell_command" commandPrefix = "scripts/agent/handoff.sh" decision = "allow" priority = 109"#,
            ]
        );
        assert_eq!(
            of("gemini", "plan", "").arguments,
            ["--approval-mode", "default"]
        );
        assert_eq!(of("gemini", "", "").arguments, ["--yolo"]);
    }

    #[test]
    fn an_agent_that_cannot_be_carried_out_has_no_settings() {
        assert!(settings(&agent("codex", "default", "Bash(git *)")).is_err());
    }
}
