//! The table of permissions: the settings by which each provider carries out a grant.

use super::super::agent::Provider;

/// A permission, in one word for all providers. Each includes the ability to run `chorus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// Read files of the workspace. Every agent has this grant.
    Read,
    /// Change files in the workspace.
    Edit,
    /// Run commands that begin with given words.
    Prefix,
    /// Run any command.
    Command,
    /// Read the web.
    Network,
    /// Do all that the user can.
    Everything,
}

impl Grant {
    pub const ALL: [Self; 6] = [
        Self::Read,
        Self::Edit,
        Self::Prefix,
        Self::Command,
        Self::Network,
        Self::Everything,
    ];

    /// Describes the grant for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit in the workspace",
            Self::Prefix => "commands by prefix",
            Self::Command => "any command",
            Self::Network => "the web",
            Self::Everything => "everything",
        }
    }
}

/// The setting by which a provider carries out a grant. `PREFIX` stands for the words that a command begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Words of Claude Code in `permissionMode` and `allowedTools`.
    Words(&'static str),
    Arguments(&'static [&'static str]),
    /// JSON that is merged into the permissions of OpenCode.
    Json(&'static str),
    /// A rule of Gemini's policy, with its approval mode.
    Policy {
        /// Empty if the rule changes nothing about the mode.
        mode: &'static str,
        tools: &'static [&'static str],
        /// The words that the command begins with; empty for all.
        prefix: &'static str,
        decision: &'static str,
    },
    /// The provider grants it to every agent.
    Always,
    /// The provider cannot carry it out.
    Refused,
}

impl Cell {
    pub const fn is_refused(&self) -> bool {
        matches!(self, Self::Refused)
    }
}

/// Returns the setting by which a provider carries out a grant.
pub const fn cell(provider: Provider, grant: Grant) -> Cell {
    match provider {
        Provider::ClaudeCode => claude_code(grant),
        Provider::Codex => codex(grant),
        Provider::OpenCode => opencode(grant),
        Provider::Gemini => gemini(grant),
        Provider::Command => Cell::Always,
    }
}

const fn claude_code(grant: Grant) -> Cell {
    Cell::Words(match grant {
        Grant::Read => "Read Glob Grep",
        Grant::Edit => "Edit(./**) Write(./**), or acceptEdits",
        Grant::Prefix => "Bash(PREFIX *)",
        Grant::Command => "Bash",
        Grant::Network => "WebFetch WebSearch",
        Grant::Everything => "bypassPermissions",
    })
}

const fn codex(grant: Grant) -> Cell {
    match grant {
        // The sandbox `read-only` has no network, so an agent in it could not hand off.
        Grant::Read => Cell::Arguments(&[
            "-c",
            "default_permissions=\"chorus\"",
            "-c",
            "permissions.chorus.filesystem={\":root\"=\"read\"}",
            "-c",
            "permissions.chorus.network={enabled=true}",
        ]),
        Grant::Edit => Cell::Arguments(&[
            "-s",
            "workspace-write",
            "-c",
            "sandbox_workspace_write.network_access=true",
        ]),
        Grant::Prefix => Cell::Refused,
        Grant::Command | Grant::Network => Cell::Always,
        Grant::Everything => Cell::Arguments(&["-s", "danger-full-access"]),
    }
}

const fn opencode(grant: Grant) -> Cell {
    match grant {
        Grant::Read => Cell::Json(
            r#"{"edit":"deny","external_directory":"deny","webfetch":"deny","websearch":"deny","bash":{"*":"deny"}}"#,
        ),
        Grant::Edit => Cell::Json(r#"{"edit":"allow"}"#),
        Grant::Prefix => Cell::Json(r#"{"bash":{"PREFIX *":"allow"}}"#),
        Grant::Command => Cell::Json(r#"{"bash":{"*":"allow"}}"#),
        Grant::Network => Cell::Json(r#"{"webfetch":"allow","websearch":"allow"}"#),
        Grant::Everything => Cell::Arguments(&["--auto"]),
    }
}

const fn gemini(grant: Grant) -> Cell {
    let (mode, tools, prefix, decision): (_, &[&str], _, _) = match grant {
        Grant::Read => (
            "default",
            &[
                "write_file",
                "replace",
                "run_shell_command",
                "web_fetch",
                "google_web_search",
            ],
            "",
            "deny",
        ),
        Grant::Edit => ("auto_edit", &["write_file", "replace"], "", "allow"),
        Grant::Prefix => ("", &["run_shell_command"], "PREFIX", "allow"),
        Grant::Command => ("", &["run_shell_command"], "", "allow"),
        Grant::Network => ("", &["web_fetch", "google_web_search"], "", "allow"),
        Grant::Everything => return Cell::Arguments(&["--yolo"]),
    };
    Cell::Policy {
        mode,
        tools,
        prefix,
        decision,
    }
}
