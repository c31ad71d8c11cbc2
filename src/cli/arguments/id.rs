//! Ids, which may be shortened to a unique end or beginning.
//!
//! # How it works
//! An argument that takes an id has one of the types below, and every type knows its nouns. Parsing only keeps the typed text, because
//! the parser cannot ask a server. Before the command runs, [`short_ids`] finds all values of these types in the parsed arguments, and
//! `cli::ids` sets the full id of each. The parser clones values; a value and its clones share the full id, so the command sees it.

use std::any::TypeId;
use std::convert::Infallible;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use clap::{Arg, ArgMatches};

use super::needs::{DependencyArgument, OrNothing};
use crate::domain::Noun;

/// Stands for the task of the run that starts a command.
pub(in crate::cli) const OWN_TASK: &str = ".";

/// An id as it was typed, and the full id once it is known.
#[derive(Debug, Clone)]
pub(in crate::cli) struct ShortId {
    pub nouns: &'static [Noun],
    pub typed: String,
    /// A thread may be called by a name, which is no id.
    pub may_be_name: bool,
    full: Arc<OnceLock<String>>,
}

impl ShortId {
    /// Drops blanks around the text: a pasted id may have some.
    fn new(nouns: &'static [Noun], may_be_name: bool, typed: &str) -> Self {
        Self {
            nouns,
            typed: typed.trim().to_owned(),
            may_be_name,
            full: Arc::default(),
        }
    }

    pub fn is_own_task(&self) -> bool {
        self.typed == OWN_TASK && self.nouns.contains(&Noun::Task)
    }

    /// Keeps the first full id that is set.
    pub fn set_full(&self, id: String) {
        let _ = self.full.set(id);
    }

    /// Returns the full id if it is known, otherwise the typed text.
    fn as_str(&self) -> &str {
        self.full.get().map_or(&self.typed, String::as_str)
    }
}

/// A type of argument that holds an id.
struct Kind {
    nouns: &'static [Noun],
    is_type_of: fn(&Arg) -> bool,
    values: fn(&ArgMatches, &str) -> Vec<ShortId>,
}

impl Kind {
    const fn of<T: HasId>(nouns: &'static [Noun]) -> Self {
        Self {
            nouns,
            is_type_of: |argument| argument.get_value_parser().type_id() == TypeId::of::<T>(),
            values: |matches, argument| match matches.try_get_many::<T>(argument) {
                Ok(Some(values)) => values.filter_map(HasId::id).cloned().collect(),
                _ => Vec::new(),
            },
        }
    }
}

trait HasId: Clone + Send + Sync + 'static {
    fn id(&self) -> Option<&ShortId>;
}

impl HasId for OrNothing<DependencyArgument> {
    fn id(&self) -> Option<&ShortId> {
        self.0.as_ref()?.task.id()
    }
}

/// Returns all ids among the arguments of a command.
pub(in crate::cli) fn short_ids(matches: &ArgMatches) -> Vec<ShortId> {
    let arguments = matches.ids().map(clap::Id::as_str);
    let values = |argument| {
        KINDS
            .iter()
            .flat_map(move |kind| (kind.values)(matches, argument))
    };
    arguments.flat_map(values).collect()
}

/// Returns the nouns whose ids an argument takes; none for other arguments.
pub(in crate::cli) fn nouns_of(argument: &Arg) -> &'static [Noun] {
    let kind = KINDS.iter().find(|kind| (kind.is_type_of)(argument));
    kind.map_or(&[], |kind| kind.nouns)
}

/// Returns the name of an argument's value, as the help shows it.
pub(in crate::cli) fn value_name(argument: &Arg) -> String {
    match argument.get_value_names() {
        Some([name, ..]) => name.to_string(),
        _ => argument.get_id().as_str().to_uppercase(),
    }
}

/// Defines the types of id arguments, and the list of them.
macro_rules! id_arguments {
    ($($name:ident: $nouns:expr, may_be_name: $may_be_name:literal;)*) => {
        const KINDS: &[Kind] = &[
            $(Kind::of::<$name>(&$nouns),)*
            Kind::of::<OrNothing<DependencyArgument>>(&[Noun::Task]),
        ];

        $(
            #[derive(Debug, Clone)]
            pub(in crate::cli) struct $name(ShortId);

            impl HasId for $name {
                fn id(&self) -> Option<&ShortId> {
                    Some(&self.0)
                }
            }

            impl FromStr for $name {
                type Err = Infallible;

                fn from_str(typed: &str) -> Result<Self, Infallible> {
                    Ok(Self(ShortId::new(&$nouns, $may_be_name, typed)))
                }
            }

            impl Deref for $name {
                type Target = str;

                fn deref(&self) -> &str {
                    self.0.as_str()
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(self)
                }
            }

            impl From<$name> for String {
                fn from(argument: $name) -> Self {
                    argument.to_string()
                }
            }
        )*
    };
}

id_arguments! {
    TaskArgument: [Noun::Task], may_be_name: false;
    HandoffArgument: [Noun::Handoff, Noun::Task], may_be_name: false;
    RequestArgument: [Noun::Request], may_be_name: false;
    IncrementArgument: [Noun::Increment], may_be_name: false;
    AlertArgument: [Noun::Alert], may_be_name: false;
    MailArgument: [Noun::Mail], may_be_name: false;
    ThreadArgument: [Noun::Mail], may_be_name: true;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &clap::Command, path: &str, wrong: &mut Vec<String>) {
        for argument in command.get_arguments() {
            let name = value_name(argument);
            let noun = name.split('[').next().unwrap_or_default();
            let is_id = [
                "TASK",
                "HANDOFF",
                "REQUEST",
                "INCREMENT",
                "ALERT",
                "MAIL",
                "THREAD",
            ]
            .contains(&noun);
            if is_id == nouns_of(argument).is_empty() {
                wrong.push(format!("{path} {name}"));
            }
        }
        for below in command.get_subcommands() {
            check(below, &format!("{path} {}", below.get_name()), wrong);
        }
    }

    #[test]
    fn every_argument_that_is_called_after_a_noun_takes_its_ids() {
        let mut wrong = Vec::new();
        check(&super::super::command(), "chorus", &mut wrong);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
