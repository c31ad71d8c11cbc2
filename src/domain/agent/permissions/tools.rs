//! Parses the list of allowed tools.

use super::table::Grant;

/// A tool with its qualifier: `Bash(git *)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedTool {
    pub name: String,
    /// The text in parentheses.
    qualifier: Option<String>,
}

/// The commands that a tool allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandRule {
    Any,
    /// Commands that begin with these words.
    Prefix(String),
    /// One command, or a pattern.
    Other,
}

/// Tools that neither read nor change anything outside the conversation.
const HARMLESS: [&str; 8] = [
    "Agent",
    "BashOutput",
    "ExitPlanMode",
    "KillBash",
    "KillShell",
    "Skill",
    "Task",
    "TodoWrite",
];

impl AllowedTool {
    /// Returns the grant that the tool is part of. `None` for a tool that only Claude Code knows.
    pub fn grant(&self) -> Option<Grant> {
        match self.name.as_str() {
            "Read" | "Glob" | "Grep" | "LS" | "NotebookRead" => Some(Grant::Read),
            "Edit" | "MultiEdit" | "NotebookEdit" | "Write" => Some(Grant::Edit),
            "Bash" => Some(Grant::Command),
            "WebFetch" | "WebSearch" => Some(Grant::Network),
            _ => None,
        }
    }

    pub(super) fn is_harmless(&self) -> bool {
        HARMLESS.contains(&self.name.as_str())
    }

    /// Whether the tool is not limited to a part of the workspace.
    pub(super) fn is_whole(&self) -> bool {
        let whole = ["", "*", "**", "./**", "**/*"];
        self.qualifier
            .as_ref()
            .is_none_or(|qualifier| whole.contains(&qualifier.trim()))
    }

    /// Returns the commands that the tool allows, if it runs commands.
    pub(super) fn command(&self) -> Option<CommandRule> {
        if self.grant() != Some(Grant::Command) {
            return None;
        }
        let Some(qualifier) = self.qualifier.as_deref().map(str::trim) else {
            return Some(CommandRule::Any);
        };
        if matches!(qualifier, "" | "*") {
            return Some(CommandRule::Any);
        }
        let prefix = [" *", ":*"]
            .into_iter()
            .find_map(|end| qualifier.strip_suffix(end));
        Some(match prefix.map(str::trim) {
            Some(prefix) if !prefix.is_empty() && !prefix.contains(['*', '?', '"', '\\']) => {
                CommandRule::Prefix(prefix.to_owned())
            }
            _ => CommandRule::Other,
        })
    }
}

impl std::fmt::Display for AllowedTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.qualifier {
            Some(qualifier) => write!(f, "{}({qualifier})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Parses a list of tools: `Bash(git *) Edit Read`. Parentheses may be nested and contain spaces.
pub fn allowed_tools(list: &str) -> Vec<AllowedTool> {
    let mut tools: Vec<AllowedTool> = Vec::new();
    let mut depth = 0_usize;
    let (mut name, mut qualifier) = (String::new(), String::new());
    for character in list.chars().chain([' ']) {
        match character {
            '(' if depth == 0 => depth = 1,
            ')' if depth == 1 => {
                depth = 0;
                let name = std::mem::take(&mut name);
                let qualifier = Some(std::mem::take(&mut qualifier));
                if !name.is_empty() {
                    tools.push(AllowedTool { name, qualifier });
                }
            }
            _ if depth > 0 => {
                match character {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                qualifier.push(character);
            }
            separator if separator.is_whitespace() || matches!(separator, ',' | ')') => {
                let name = std::mem::take(&mut name);
                if !name.is_empty() {
                    tools.push(AllowedTool {
                        name,
                        qualifier: None,
                    });
                }
            }
            part => name.push(part),
        }
    }
    // A qualifier that is never closed.
    if depth > 0 && !name.is_empty() {
        tools.push(AllowedTool {
            name,
            qualifier: Some(qualifier.trim().to_owned()),
        });
    }
    tools
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(list: &str) -> Vec<String> {
        allowed_tools(list)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn names_and_qualifiers_are_separated() {
        for (list, tools) in [
            (
                "Bash(file-tools *) Edit Read(*)",
                vec!["Bash(file-tools *)", "Edit", "Read(*)"],
            ),
            ("Bash(a (b) c) Bash(x)", vec!["Bash(a (b) c)", "Bash(x)"]),
            ("Read,Edit, Write", vec!["Read", "Edit", "Write"]),
            (
                "mcp__a__b Bash(x)Read",
                vec!["mcp__a__b", "Bash(x)", "Read"],
            ),
            ("  ", vec![]),
            ("(only a qualifier) Edit", vec!["Edit"]),
            ("Bash(never closed Edit", vec!["Bash(never closed Edit)"]),
            ("Bash) Edit", vec!["Bash", "Edit"]),
        ] {
            assert_eq!(read(list), tools, "{list}");
        }
    }

    #[test]
    fn a_command_rule_is_everything_a_prefix_or_something_else() {
        let prefix = |prefix: &str| CommandRule::Prefix(prefix.to_owned());
        for (list, rule) in [
            ("Bash", CommandRule::Any),
            ("Bash(*)", CommandRule::Any),
            ("Bash(git diff *)", prefix("git diff")),
            ("Bash(git diff:*)", prefix("git diff")),
            ("Bash(git diff)", CommandRule::Other),
            ("Bash(npm run * --fix)", CommandRule::Other),
            ("Bash(npm * test *)", CommandRule::Other),
        ] {
            assert_eq!(allowed_tools(list)[0].command(), Some(rule), "{list}");
        }
        assert_eq!(allowed_tools("Edit")[0].command(), None);
    }

    proptest! {
        #[test]
        fn a_name_is_never_empty_and_has_no_parenthesis(list in "[A-Za-z(), *]{0,60}") {
            for tool in allowed_tools(&list) {
                prop_assert!(!tool.name.is_empty());
                prop_assert!(!tool.name.contains(['(', ')', ' ', ',']), "{tool}");
            }
        }

        #[test]
        fn names_without_qualifiers_stay_in_order(names in proptest::collection::vec("[A-Z][a-z]{0,8}", 0..6)) {
            prop_assert_eq!(read(&names.join(" ")), names);
        }
    }
}
