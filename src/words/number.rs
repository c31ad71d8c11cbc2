//! Nouns that agree with their number.

use std::fmt::Display;

/// Writes a number and its noun: "1 task", "2 tasks". The plural must be regular.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    format!("{number} {}", plural(number, noun))
}

/// Writes the noun alone: "task" for 1, otherwise "tasks".
pub fn plural<N: Copy + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let ending = if number == N::from(1) { "" } else { "s" };
    format!("{noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_number() {
        let counts = [0_u32, 1, 2].map(|number| counted(number, "task"));
        assert_eq!(counts, ["0 tasks", "1 task", "2 tasks"]);
    }
}
