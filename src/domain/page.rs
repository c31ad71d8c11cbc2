//! Pages of lists.

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items, oldest first.
    pub items: Vec<T>,
    /// What names the last item of this page, if there are more behind it.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Cuts off the one item more that was asked for to see whether there is more.
    pub fn cut(mut items: Vec<T>, limit: u32, name: fn(&T) -> String) -> Self {
        let limit = limit as usize;
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| has_more).map(name);
        Self { items, next }
    }
}
