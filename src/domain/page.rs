//! Pages of lists.

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The cursor of the last item, if there are more items.
    pub next: Option<String>,
}
