//! The variables of the server's environment that an agent inherits.
//!
//! The environment of a server often has keys of several vendors, and secrets of other programs. An agent gets what programs need to
//! work at all, the variables of its own provider, and those that the server's options name.

use std::ffi::OsString;

use crate::domain::{Agent, Provider};

/// The variables of every agent. `*` at the end stands for any rest.
const COMMON: [&str; 49] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_*",
    // The way to the network.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    // The places of compilers and interpreters.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "NVM_DIR",
    "NODE_PATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
];

/// Returns the patterns of the variables that a provider's program reads.
fn of_provider(agent: &Agent) -> Vec<String> {
    let own: &[&str] = match agent.provider {
        Provider::ClaudeCode => &["ANTHROPIC_*", "CLAUDE_*", "IS_SANDBOX"],
        Provider::Codex => &["OPENAI_*", "CODEX_*"],
        Provider::OpenCode => &["OPENCODE_*"],
        Provider::Gemini => &["GEMINI_*", "GOOGLE_*"],
        Provider::Command => &[],
    };
    let mut own: Vec<String> = own.iter().map(|&name| name.to_owned()).collect();
    // OpenCode works with any vendor, which is the first part of the model.
    if agent.provider == Provider::OpenCode
        && let Some((vendor, _)) = agent
            .model
            .as_ref()
            .and_then(|model| model.as_str().split_once('/'))
    {
        let vendor = vendor.to_uppercase().replace(['-', '.'], "_");
        own.push(format!("{vendor}_*"));
        if vendor == "GOOGLE" {
            own.push("GEMINI_*".to_owned());
        }
    }
    own
}

/// Selects the variables that an agent inherits. `passed` are names that the server's options add.
pub fn inherited(
    agent: &Agent,
    passed: &[String],
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let own = of_provider(agent);
    let is_passed = |name: &str| {
        let patterns = COMMON.into_iter();
        let patterns = patterns.chain(own.iter().chain(passed).map(String::as_str));
        // The server's own settings are not for agents.
        !name.starts_with("CHORUS_") && patterns.into_iter().any(|pattern| matches(pattern, name))
    };
    variables
        .filter(|(name, _)| is_passed(&name.to_string_lossy()))
        .collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern
        .strip_suffix('*')
        .map_or(pattern == name, |beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::AgentChange;

    fn kept(agent: serde_json::Value, passed: &[&str]) -> String {
        let agent: AgentChange = serde_json::from_value(agent).unwrap();
        let agent = agent.into_new("mine".parse().unwrap());
        let all = [
            "PATH",
            "LC_ALL",
            "XDG_CACHE_HOME",
            "ANTHROPIC_API_KEY",
            "CLAUDE_CONFIG_DIR",
            "OPENAI_API_KEY",
            "CODEX_HOME",
            "OPENCODE_CONFIG",
            "OPENROUTER_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "SSH_AUTH_SOCK",
            "CHORUS_TOKEN",
        ];
        let variables = all
            .iter()
            .map(|name| (name.into(), OsString::from("value")));
        let passed: Vec<_> = passed.iter().map(|&name| name.to_owned()).collect();
        let kept = inherited(&agent, &passed, variables);
        let names = kept
            .iter()
            .map(|(name, _)| name.to_string_lossy().into_owned());
        names.skip(3).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_agent_gets_the_keys_of_its_own_provider_only() {
        for (agent, expected) in [
            (json!({}), "ANTHROPIC_API_KEY CLAUDE_CONFIG_DIR"),
            (json!({ "provider": "codex" }), "OPENAI_API_KEY CODEX_HOME"),
            (json!({ "provider": "opencode" }), "OPENCODE_CONFIG"),
            (
                json!({ "provider": "opencode", "model": "openrouter/qwen/coder" }),
                "OPENCODE_CONFIG OPENROUTER_API_KEY",
            ),
            (
                json!({ "provider": "opencode", "model": "google/pro" }),
                "OPENCODE_CONFIG GEMINI_API_KEY GOOGLE_API_KEY",
            ),
            (
                json!({ "provider": "gemini" }),
                "GEMINI_API_KEY GOOGLE_API_KEY",
            ),
            (json!({ "provider": "command" }), ""),
        ] {
            assert_eq!(kept(agent.clone(), &[]), expected, "{agent}");
        }
    }

    #[test]
    fn the_server_passes_more_by_name_but_never_its_own_settings() {
        let command = json!({ "provider": "command" });
        assert_eq!(
            kept(command.clone(), &["AWS_*", "SSH_AUTH_SOCK", "GITHUB"]),
            "AWS_SECRET_ACCESS_KEY SSH_AUTH_SOCK"
        );
        assert_eq!(kept(command, &["CHORUS_*"]), "");
    }
}
