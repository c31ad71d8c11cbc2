//! Errors of attempts, which a program prints on standard error while it retries.

use crate::domain::Provider;

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
            let (_, error) = line
                .contains("level=ERROR")
                .then(|| line.split_once("error.error="))??;
            Some(error.trim().trim_matches('"').to_owned())
        }
        // These print their errors on standard output.
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
            (Provider::OpenCode, "level=WARN error.error=\"x\""),
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
