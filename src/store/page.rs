//! Pages of a list, bounded in number and in bytes.

use std::ops::ControlFlow;

use super::Result;
use super::row::Row;
use crate::domain::Page;

/// The most bytes of a page, not counting its last item.
pub const LARGEST_PAGE: usize = 4 * 1024 * 1024;

/// The properties of a page's items.
pub struct Item<T> {
    pub from_row: fn(&Row<'_>) -> Result<T>,
    /// The cursor of the page after the item.
    pub name: fn(&T) -> String,
}

/// A page while it is read.
pub(super) struct Gathering<'a, T> {
    item: &'a Item<T>,
    limit: usize,
    items: Vec<T>,
    bytes: usize,
    has_more: bool,
}

impl<'a, T> Gathering<'a, T> {
    pub const fn new(item: &'a Item<T>, limit: u32) -> Self {
        Self {
            item,
            limit: limit as usize,
            items: Vec::new(),
            bytes: 0,
            has_more: false,
        }
    }

    /// Takes a row, or notes that there is one more if the page is full.
    pub fn take(&mut self, row: &Row<'_>) -> Result<ControlFlow<()>> {
        if self.is_full() {
            self.has_more = true;
            return Ok(ControlFlow::Break(()));
        }
        self.items.push((self.item.from_row)(row)?);
        self.bytes += row.bytes();
        Ok(ControlFlow::Continue(()))
    }

    pub fn is_full(&self) -> bool {
        self.items.len() == self.limit || self.bytes > LARGEST_PAGE
    }

    pub const fn note_more(&mut self) {
        self.has_more = true;
    }

    pub fn into_page(self) -> Page<T> {
        let next = self.items.last().filter(|_| self.has_more);
        Page {
            next: next.map(self.item.name),
            items: self.items,
        }
    }
}
