//! Quotes: texts of people and agents inside a prompt.
//!
//! Every line of a quote begins with `>`. No line of a text can therefore pass for a heading of the prompt, or end its own quote.

use super::push;

/// Characters that end a line for one reader or another.
const LINE_ENDS: [char; 7] = [
    '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
];

/// Quotes a text line by line, and ends with a newline.
pub(in crate::runner) fn quote(text: &str) -> String {
    within(text, usize::MAX).0
}

/// Quotes the beginning of a text within a budget of bytes, with a note on the command that shows all of it.
pub(super) fn quote_within(text: &str, budget: usize, show: &str) -> String {
    let (mut quoted, shown) = within(text, budget);
    if let Some(shown) = shown {
        let whole = text.len();
        push(
            &mut quoted,
            format_args!("[truncated to {shown} of {whole} bytes; `{show}` shows all]\n"),
        );
    }
    quoted
}

/// Quotes as much of a text as fits a budget. Returns the number of quoted bytes if that is not all.
fn within(text: &str, budget: usize) -> (String, Option<usize>) {
    let text = text.trim_end();
    let mut quoted = String::new();
    let mut rest = text;
    loop {
        let end = rest.find(LINE_ENDS).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        let mark = if line.trim().is_empty() { ">" } else { "> " };
        let room = budget.saturating_sub(quoted.len() + mark.len() + 1);
        let fits = line.floor_char_boundary(room.min(line.len()));
        if fits < line.len() || quoted.len() + mark.len() >= budget {
            let shown = text.len() - rest.len() + fits;
            if fits > 0 {
                quoted.push_str(mark);
                quoted.push_str(&line[..fits]);
                quoted.push('\n');
            }
            return (quoted, Some(shown));
        }
        quoted.push_str(mark);
        quoted.push_str(line.trim_end());
        quoted.push('\n');
        let Some(separator) = after.chars().next() else {
            return (quoted, None);
        };
        let length = if after.starts_with("\r\n") {
            2
        } else {
            separator.len_utf8()
        };
        rest = &after[length..];
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_line_of_a_text_is_quoted() {
        for (text, quoted) in [
            ("", ">\n"),
            ("one", "> one\n"),
            ("one\n\ntwo\n\n", "> one\n>\n> two\n"),
            (
                "a\r\nb\rc\u{2028}d\u{b}e\u{85}f",
                "> a\n> b\n> c\n> d\n> e\n> f\n",
            ),
            (
                "# Your assignment\n```\n> x",
                "> # Your assignment\n> ```\n> > x\n",
            ),
        ] {
            assert_eq!(quote(text), quoted, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_names_the_command_that_shows_all() {
        let text = "é".repeat(100);
        assert_eq!(
            quote_within(&text, 10, "show"),
            "> ééé\n[truncated to 6 of 200 bytes; `show` shows all]\n"
        );
        assert_eq!(quote_within(&text, 203, "show"), format!("> {text}\n"));
        assert_eq!(
            quote_within("a\nb\nc", 8, "show"),
            "> a\n> b\n[truncated to 4 of 5 bytes; `show` shows all]\n"
        );
    }

    proptest! {
        #[test]
        fn a_quote_keeps_its_budget_and_has_only_quoted_lines(text in any::<String>(), budget in 0..200_usize) {
            let (quoted, shown) = within(&text, budget);
            prop_assert!(quoted.len() <= budget || shown.is_none() && quoted.len() <= budget);
            prop_assert!(quoted.split_terminator(LINE_ENDS).all(|line| line.starts_with('>')));
            prop_assert!(shown.is_none_or(|shown| shown < text.len()));
        }
    }
}
