//! Errors of attempts, which a program prints on standard error while it retries.

use crate::domain::Provider;

/// Whether the program of a provider prints errors of attempts on standard error. Others print them on standard output.
pub const fn has_complaints(provider: Provider) -> bool {
    matches!(provider, Provider::OpenCode | Provider::Gemini)
}

/// Returns the error in a line of standard error, if the program says that an attempt to reach its model failed.
pub fn complaint(provider: Provider, line: &str) -> Option<String> {
    match provider {
        Provider::Gemini => {
            let (attempt, error) = line.split_once(". Retrying with backoff")?;
            let is_attempt = attempt.starts_with("Attempt ") && attempt.contains(" failed");
            let error = error.trim_start_matches(['.', ' ']);
            is_attempt.then(|| format!("{attempt}. {error}").trim_end().to_owned())
        }
        Provider::OpenCode => {
            // The small model only writes titles, and may fail while the agent works.
            let is_attempt = line.contains("level=ERROR")
                && line.contains("message=\"stream error\"")
                && !line.contains("small=true");
            let (_, error) = is_attempt.then(|| line.split_once("error.error="))??;
            Some(error.trim().trim_matches('"').to_owned())
        }
        Provider::ClaudeCode | Provider::Codex | Provider::Command => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_error_of_an_attempt_is_a_complaint() {
        let opencode = "timestamp=2026-11-18T20:30:54.333Z level=ERROR run=f0 message=\"stream error\" error.error=\"AI_APICallError: scripted 429\"";
        let gemini = "Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {\"error\":{\"code\":429}}";
        assert_eq!(
            complaint(Provider::OpenCode, opencode).as_deref(),
            Some("AI_APICallError: scripted 429")
        );
        assert_eq!(
            complaint(Provider::Gemini, gemini).as_deref(),
            Some("Attempt 1 failed with status 429. _ApiError: {\"error\":{\"code\":429}}")
        );
        for (provider, line) in [
            (
                Provider::OpenCode,
                "level=WARN message=\"stream error\" error.error=\"x\"",
            ),
            (
                Provider::OpenCode,
                "level=ERROR message=\"stream error\" small=true error.error=\"x\"",
            ),
            (
                Provider::OpenCode,
                "level=ERROR message=\"a plugin failed\"",
            ),
            (
                Provider::Gemini,
                "Ripgrep is not available. Falling back to GrepTool.",
            ),
            (Provider::Gemini, "    at throwErrorIfNotOK (chunk.js:1:2)"),
            (Provider::Codex, opencode),
            (Provider::Command, gemini),
        ] {
            assert_eq!(complaint(provider, line), None, "{line}");
        }
    }
}
