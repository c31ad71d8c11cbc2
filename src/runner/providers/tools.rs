//! Parses the list of allowed tools.

/// Extracts the tool names from a list with qualifiers: `Bash(git *) Edit Bash(ls)` gives `Bash Edit`.
///
/// Qualifiers in parentheses are dropped, including nested ones and ones with spaces. Each name is listed once, at its first
/// position.
pub fn tool_names(allowed_tools: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut depth = 0_usize;
    let mut name = String::new();
    for character in allowed_tools.chars().chain([' ']) {
        let is_outside = depth == 0;
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            part if is_outside && !part.is_whitespace() && part != ',' => {
                name.push(part);
                continue;
            }
            _ => {}
        }
        let finished = std::mem::take(&mut name);
        if !finished.is_empty() && !names.contains(&finished) {
            names.push(finished);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn qualifiers_are_dropped_and_names_are_listed_once() {
        for (allowed, names) in [
            ("Bash(file-tools *) Edit Read(*)", "Bash Edit Read"),
            ("Bash(a (b) c) Bash(x)", "Bash"),
            ("Read,Edit, Write", "Read Edit Write"),
            ("mcp__chorus__say Bash(x)Read", "mcp__chorus__say Bash Read"),
            ("  ", ""),
            ("(only a qualifier) Edit", "Edit"),
            ("Bash(never closed Edit", "Bash"),
            ("Bash) Edit", "Bash Edit"),
        ] {
            assert_eq!(tool_names(allowed).join(" "), names, "{allowed}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_never_empty_and_has_no_parenthesis(allowed in "[A-Za-z(), *]{0,60}") {
            let names = tool_names(&allowed);
            for name in &names {
                prop_assert!(!name.is_empty());
                prop_assert!(!name.contains(['(', ')', ' ', ',']), "{name}");
            }
            let unique: std::collections::HashSet<_> = names.iter().collect();
            prop_assert_eq!(unique.len(), names.len());
        }

        #[test]
        fn names_without_qualifiers_stay_in_order(names in proptest::collection::hash_set("[A-Z][a-z]{0,8}", 0..6)) {
            let names: Vec<_> = names.into_iter().collect();
            prop_assert_eq!(tool_names(&names.join(" ")), names);
        }
    }
}
