//! The list of commands in `chorus --help`, in groups. Clap has no headings for subcommands.

use std::fmt::Write;

use clap::Command;

/// The visible commands by group. A test compares the list with the command tree.
pub(in crate::cli) const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Work",
        &[
            "task",
            "handoff",
            "chat",
            "cancel",
            "log",
            "request",
            "increment",
            "session",
        ],
    ),
    ("People", &["mail", "alert", "agent", "tool"]),
    ("Files", &["tag"]),
    (
        "Server",
        &[
            "serve",
            "operator",
            "demo",
            "doctor",
            "stats",
            "export",
            "import",
            "backup",
            "migrate",
            "completions",
        ],
    ),
];

/// Replaces the flat list of commands in the help by one list per group.
pub(super) fn in_groups(command: Command) -> Command {
    let styles = command.get_styles();
    let (heading, name) = (*styles.get_header(), *styles.get_literal());
    let mut list = String::new();
    for (group, names) in GROUPS {
        // Writing to a string cannot fail.
        let _ = writeln!(list, "{heading}{group}:{heading:#}");
        for command in names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
        {
            let about = command.get_about().map(ToString::to_string);
            let _ = write!(
                list,
                "  {name}{:<12}{name:#} {}",
                command.get_name(),
                about.unwrap_or_default()
            );
            for alias in command.get_visible_aliases() {
                let _ = write!(list, " [alias: {alias}]");
            }
            list.push('\n');
        }
        list.push('\n');
    }
    command.help_template(format!(
        "{{about}}\n\nTry `chorus demo` first. `chorus COMMAND --help` explains a command.\n\n\
         {{usage-heading}} {{usage}}\n\n{list}{heading}Options:{heading:#}\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Arguments;
    use super::*;

    #[test]
    fn every_visible_command_is_in_one_group_in_the_order_of_the_grammar() {
        let command = Arguments::command();
        let visible: Vec<_> = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .collect();
        let grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).collect();
        assert_eq!(visible, grouped.into_iter().copied().collect::<Vec<_>>());
    }
}
