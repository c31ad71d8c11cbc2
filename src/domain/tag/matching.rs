//! Matching of tags in files with requests.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;

use crate::domain::{Effort, Kind, Priority, RequestState};

/// A tag of a request in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTag {
    pub kind: Kind,
    pub state: RequestState,
    /// From 1.
    pub line: u32,
    /// The text of the line.
    pub title: String,
    /// The text around the line.
    pub body: String,
    pub priority: Option<Priority>,
    pub effort: Option<Effort>,
}

/// A tag of an alert in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAlert {
    pub active: bool,
    /// From 1.
    pub line: u32,
    /// The text of the line.
    pub title: String,
}

/// A tag of a request, as of the last scan of its file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KnownTag {
    pub kind: Kind,
    pub state: RequestState,
    /// The text of its line.
    pub title: String,
    /// From 1.
    pub line: Option<u32>,
}

/// Matches the tags of a file with known tags, as pairs of indices.
///
/// The title counts more than the line, because lines move. Among equal titles, tags with the same state are matched
/// first, then in order. A rewritten line is matched by kind, state and line, or as the only one left with that kind and
/// state.
pub fn match_tags(found: &[FileTag], known: &[KnownTag]) -> Vec<(usize, usize)> {
    let mut matching = Matching::by_title(found, known);
    matching.pair_in_order(
        |new| (&found[new].kind, found[new].state, Some(found[new].line)),
        |old| (&known[old].kind, known[old].state, known[old].line),
    );
    matching.pair_single(
        |new| (&found[new].kind, found[new].state),
        |old| (&known[old].kind, known[old].state),
    );
    matching.pairs.sort_unstable();
    matching.pairs
}

/// Matches tags with those known from other files, as pairs of indices.
pub fn match_moved_tags(found: &[FileTag], known: &[KnownTag]) -> Vec<(usize, usize)> {
    Matching::by_title(found, known).pairs
}

/// A matching of two lists, and the indices that are not matched yet.
struct Matching {
    new_left: Vec<usize>,
    old_left: Vec<usize>,
    pairs: Vec<(usize, usize)>,
}

impl Matching {
    /// Pairs equal titles: first those with the same state, then the others.
    fn by_title(found: &[FileTag], known: &[KnownTag]) -> Self {
        let mut matching = Self {
            new_left: (0..found.len()).collect(),
            old_left: (0..known.len()).collect(),
            pairs: Vec::new(),
        };
        matching.pair_in_order(
            |new| (&found[new].kind, &found[new].title, found[new].state),
            |old| (&known[old].kind, &known[old].title, known[old].state),
        );
        matching.pair_in_order(
            |new| (&found[new].kind, &found[new].title),
            |old| (&known[old].kind, &known[old].title),
        );
        matching
    }

    /// Pairs items with the same key in order.
    fn pair_in_order<K: Eq + Hash>(
        &mut self,
        new_key: impl Fn(usize) -> K,
        old_key: impl Fn(usize) -> K,
    ) {
        let mut waiting: HashMap<K, VecDeque<usize>> = HashMap::new();
        for new in &self.new_left {
            waiting.entry(new_key(*new)).or_default().push_back(*new);
        }
        for old in &self.old_left {
            let new = waiting
                .get_mut(&old_key(*old))
                .and_then(VecDeque::pop_front);
            self.pairs.extend(new.map(|new| (new, *old)));
        }
        self.drop_paired();
    }

    /// Pairs items whose key occurs once in each list.
    fn pair_single<K: Eq + Hash>(
        &mut self,
        new_key: impl Fn(usize) -> K,
        old_key: impl Fn(usize) -> K,
    ) {
        let mut alike: HashMap<K, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for new in &self.new_left {
            alike.entry(new_key(*new)).or_default().0.push(*new);
        }
        for old in &self.old_left {
            alike.entry(old_key(*old)).or_default().1.push(*old);
        }
        for (new, old) in alike.into_values() {
            if let ([new], [old]) = (new.as_slice(), old.as_slice()) {
                self.pairs.push((*new, *old));
            }
        }
        self.drop_paired();
    }

    fn drop_paired(&mut self) {
        let new: HashSet<usize> = self.pairs.iter().map(|pair| pair.0).collect();
        let old: HashSet<usize> = self.pairs.iter().map(|pair| pair.1).collect();
        self.new_left.retain(|left| !new.contains(left));
        self.old_left.retain(|left| !old.contains(left));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use RequestState::{Claimed, Delegated, Needs};

    fn tag(kind: &str, state: RequestState, title: &str) -> FileTag {
        FileTag {
            kind: kind.parse().unwrap(),
            state,
            line: 1,
            title: title.to_owned(),
            body: String::new(),
            priority: None,
            effort: None,
        }
    }

    fn known(kind: &str, state: RequestState, title: &str) -> KnownTag {
        KnownTag {
            kind: kind.parse().unwrap(),
            state,
            title: title.to_owned(),
            line: None,
        }
    }

    #[test]
    fn a_line_rewritten_in_place_keeps_its_request() {
        let was = KnownTag {
            line: Some(7),
            ..known("fix", Claimed, "old")
        };
        let place = |line, title| FileTag {
            line,
            ..tag("fix", Claimed, title)
        };
        let after = [place(3, "somebody else's"), place(7, "new")];
        assert_eq!(match_tags(&after, &[was]), [(1, 0)]);
    }

    #[test]
    fn moved_lines_keep_their_requests() {
        let before = [known("fix", Needs, "a"), known("fix", Claimed, "b")];
        let after = [tag("fix", Claimed, "b"), tag("fix", Needs, "a")];
        assert_eq!(match_tags(&after, &before), [(0, 1), (1, 0)]);
    }

    #[test]
    fn equal_lines_are_matched_by_state() {
        let before = [known("fix", Needs, "a"), known("fix", Claimed, "a")];
        let after = [tag("fix", Claimed, "a"), tag("fix", Delegated, "a")];
        assert_eq!(match_tags(&after, &before), [(0, 1), (1, 0)]);
    }

    #[test]
    fn a_rewritten_line_keeps_its_request_if_it_is_the_only_one() {
        let before = [known("fix", Needs, "old"), known("loop", Needs, "x")];
        let after = [tag("fix", Needs, "new"), tag("loop", Needs, "x")];
        assert_eq!(match_tags(&after, &before), [(0, 0), (1, 1)]);
        let two = [tag("fix", Needs, "new"), tag("fix", Needs, "newer")];
        assert_eq!(match_tags(&two, &before[..1]), []);
        // The old request is in progress, so a new tag is new work.
        let worked_on = [known("fix", Claimed, "old")];
        assert_eq!(match_tags(&after[..1], &worked_on), []);
    }

    fn any_tag() -> impl Strategy<Value = FileTag> {
        let state = prop::sample::select(RequestState::ALL.to_vec());
        let kind = prop::sample::select(vec!["fix", "loop"]);
        (kind, state, "[ab]{1,2}").prop_map(|(kind, state, title)| tag(kind, state, &title))
    }

    proptest! {
        #[test]
        fn a_matching_is_unique_and_includes_unchanged_tags(
            found in prop::collection::vec(any_tag(), 0..8),
            gone in prop::collection::vec(any_tag(), 0..4),
        ) {
            let before: Vec<_> = found.iter().chain(&gone)
                .map(|tag| known(tag.kind.as_str(), tag.state, &tag.title)).collect();
            let pairs = match_tags(&found, &before);
            let mut new: Vec<_> = pairs.iter().map(|pair| pair.0).collect();
            let mut old: Vec<_> = pairs.iter().map(|pair| pair.1).collect();
            new.dedup();
            old.sort_unstable();
            old.dedup();
            prop_assert_eq!((new.len(), old.len()), (found.len(), found.len()));
            for (new, old) in pairs {
                prop_assert_eq!(&found[new].title, &before[old].title);
                prop_assert_eq!(found[new].state, before[old].state);
            }
        }
    }
}
