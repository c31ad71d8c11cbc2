//! Tables.

use comfy_table::presets;
use comfy_table::{ColumnConstraint, ContentArrangement};

use super::text::one_line;

/// The headings of columns that are never cut.
const KEPT: [&str; 3] = ["id", "task", "name"];

/// Rows under headings.
#[derive(Debug, Default)]
pub(in crate::cli) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Begins a table.
    pub fn new(headings: &[&'static str]) -> Self {
        Self {
            headings: headings.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Every cell becomes one line.
    pub fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows
            .push(cells.iter().map(|cell| one_line(cell)).collect());
    }

    /// Aligns the columns, and cuts them to the width of the terminal.
    pub fn aligned(&self) -> String {
        let mut table = comfy_table::Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic);
        if let Some(width) = terminal_width() {
            table.set_width(width);
        }
        table.set_header(self.headings.iter().map(|heading| heading.to_uppercase()));
        // What is cut cannot be pasted.
        for (place, heading) in self.headings.iter().enumerate() {
            if let (true, Some(column)) = (KEPT.contains(heading), table.column_mut(place)) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        for row in &self.rows {
            let mut row = comfy_table::Row::from(row);
            row.max_height(1);
            table.add_row(row);
        }
        table
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Separates the columns by tabs, without headings.
    pub fn separated(&self) -> String {
        self.rows
            .iter()
            .map(|row| row.join("\t"))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

fn terminal_width() -> Option<u16> {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| size.ws_col)
        .filter(|width| *width > 0)
}
