//! Commands that a page shows, as code or inline, must exist: names of subcommands and long options.

use clap::Command;

use super::page::Page;

/// Describes the commands of a page that do not exist.
pub fn problems(page: &Page) -> Vec<String> {
    let root = chorus::cli::command();
    let prose = page.prose();
    // Every second part between backticks is code.
    let inline = prose.split('`').skip(1).step_by(2).map(str::to_owned);
    let blocks = page
        .blocks
        .iter()
        .map(|block| block.text.replace("\\\n", " "));
    let mut problems = Vec::new();
    for code in blocks.chain(inline) {
        for line in code.lines() {
            for call in calls(line) {
                let words = words(call);
                if let Err(problem) = check(&root, &words) {
                    problems.push(format!("`chorus {}`: {problem}", words.join(" ")));
                }
            }
        }
    }
    problems
}

/// Returns the text behind each `chorus` that stands where a command does.
fn calls(line: &str) -> impl Iterator<Item = &str> {
    const NAME: &str = "chorus ";
    line.match_indices(NAME).filter_map(|(place, _)| {
        let before = line[..place].chars().next_back();
        let is_command =
            before.is_none_or(|before| before.is_whitespace() || "'\"(/`".contains(before));
        is_command.then(|| &line[place + NAME.len()..])
    })
}

/// Splits a command into words, up to the end of the command. A quoted word is one word.
fn words(call: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = call.trim_start();
    while let Some(first) = rest.chars().next() {
        if "|;&)(<>#`".contains(first) {
            break;
        }
        if let Some(quoted) = rest.strip_prefix(['"', '\'']) {
            let Some(end) = quoted.find(first) else { break };
            words.push("QUOTED".to_owned());
            rest = quoted[end + 1..].trim_start();
            continue;
        }
        let end = rest.find(|next: char| next.is_whitespace() || ";)('\"`".contains(next));
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(word.to_owned());
        // A quote within a word closes the text around the command, as in `sh -c '… chorus task list'`, or opens a value.
        if behind.starts_with([';', ')', '(', '\'', '"', '`']) {
            break;
        }
        rest = behind.trim_start();
    }
    words
}

fn check(root: &Command, words: &[String]) -> Result<(), String> {
    let mut command = root;
    let mut is_value = false;
    for word in words {
        if let Some(flag) = word.strip_prefix("--") {
            is_value = takes_value(command, flag)?;
        } else if is_value {
            is_value = false;
        } else if command.has_subcommands() {
            let names: Vec<_> = word
                .split('|')
                .map(|name| name.trim_end_matches(['.', ',', ':']))
                .collect();
            let found = names
                .iter()
                .map(|name| find(command, name))
                .collect::<Result<Vec<_>, _>>()?;
            match found[..] {
                [Some(found)] => command = found,
                // A list of commands, or a placeholder for one.
                _ => return Ok(()),
            }
        }
    }
    Ok(())
}

/// Finds a subcommand by a name that users see; none for a placeholder.
fn find<'a>(command: &'a Command, name: &str) -> Result<Option<&'a Command>, String> {
    if name.starts_with('-')
        || ["…", "*"].contains(&name)
        || name == "help"
        || name.chars().all(|c| c.is_ascii_uppercase())
    {
        return Ok(None);
    }
    let is_named = |found: &&Command| {
        found.get_name() == name || found.get_visible_aliases().any(|alias| alias == name)
    };
    // `supervise` is for the server alone; the other hidden commands are old names.
    let is_shown = |found: &&Command| !found.is_hide_set() || name == "supervise";
    match command.get_subcommands().filter(is_shown).find(is_named) {
        Some(found) => Ok(Some(found)),
        None => Err(format!(
            "`{}` has no visible command `{name}`",
            command.get_name()
        )),
    }
}

/// Returns whether the value of an option is the next word.
fn takes_value(command: &Command, flag: &str) -> Result<bool, String> {
    let end = flag.find(|next: char| !(next.is_ascii_alphanumeric() || next == '-'));
    let (name, behind) = flag.split_at(end.unwrap_or(flag.len()));
    if ["help", "version"].contains(&name) {
        return Ok(false);
    }
    let is_named = |argument: &&clap::Arg| {
        argument.get_long() == Some(name)
            || argument
                .get_visible_aliases()
                .is_some_and(|aliases| aliases.contains(&name))
    };
    match command.get_arguments().find(is_named) {
        Some(argument) => Ok(argument.get_action().takes_values() && behind.is_empty()),
        None => Err(format!(
            "`{}` has no visible option `--{name}`",
            command.get_name()
        )),
    }
}
