//! Pages of lists.

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The cursor of the last item, if there are more items.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Builds a page from a query that asked for one item more than `limit`.
    pub fn cut(mut items: Vec<T>, limit: u32, name: fn(&T) -> String) -> Self {
        let limit = limit as usize;
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| has_more).map(name);
        Self { items, next }
    }
}
