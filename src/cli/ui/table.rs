//! Tables.
//!
//! # How it works
//! A pipe gets every cell in full. A terminal gets columns that fit its width. Ids are shortened to their ends, which are random and
//! which every command accepts; their beginnings are times, and alike. If the table is still too wide, the widest columns give way first, in the order of [`STEPS`]:
//! long texts and the ends of times, then short texts, and at last everything.

use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::text::{is_id, one_line};

/// The headings of columns that are copied into commands, and so cut last.
const NAMES: [&str; 6] = ["id", "task", "name", "request", "hand-off", "agent"];

/// The shortest end of an id that is shown: 32 random bits.
const SHORTEST_ID: usize = 8;

/// The length of a time without its seconds: `2026-01-31 12:00`.
const TO_THE_MINUTE: usize = 16;

/// The length of the date of a time: `2026-01-31`.
const DATE: usize = 10;

const GAP: &str = "  ";

/// Rows under headings.
#[derive(Debug, Default)]
pub(in crate::cli) struct Table {
    /// The sentence for a table without rows.
    nothing: &'static str,
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// A column of a table for a terminal.
struct Column {
    heading: String,
    cells: Vec<String>,
    content: Content,
    width: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Ids,
    Names,
    Times,
    Text,
}

/// Makes columns narrower: those with one of these contents, the widest first, until the table fits or they have this width.
type Step = (&'static [Content], usize);

const STEPS: [Step; 7] = [
    (&[Content::Text], 24),
    (&[Content::Times], TO_THE_MINUTE),
    (&[Content::Text], 16),
    (&[Content::Times], DATE),
    (&[Content::Text], 8),
    (&[Content::Text, Content::Times, Content::Names], 4),
    (
        &[Content::Text, Content::Times, Content::Names, Content::Ids],
        1,
    ),
];

impl Table {
    pub fn new(nothing: &'static str, headings: &[&'static str]) -> Self {
        Self {
            nothing,
            headings: headings.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Every cell becomes one line.
    pub fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows
            .push(cells.iter().map(|cell| one_line(cell)).collect());
    }

    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub const fn nothing(&self) -> &'static str {
        self.nothing
    }

    /// Aligns the columns under their headings, and fits them to the terminal.
    pub fn aligned(&self) -> String {
        self.fit(terminal_width())
    }

    /// Separates the columns by tabs, without headings.
    pub fn separated(&self) -> String {
        self.rows
            .iter()
            .map(|row| row.join("\t"))
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn fit(&self, width: Option<usize>) -> String {
        let mut columns = self.columns();
        if let Some(width) = width {
            let gaps = GAP.len() * columns.len().saturating_sub(1);
            narrow(&mut columns, width.saturating_sub(gaps));
        }
        let heading = line(&columns, |column| &column.heading);
        let rows = (0..self.rows.len()).map(|place| line(&columns, |column| &column.cells[place]));
        let lines = std::iter::once(heading).chain(rows);
        lines.collect::<Vec<_>>().join("\n")
    }

    fn columns(&self) -> Vec<Column> {
        let ids: Vec<_> = self
            .rows
            .iter()
            .flatten()
            .filter(|cell| is_id(cell))
            .map(String::as_str)
            .collect();
        let length = unique_length(&ids);
        let columns = self.headings.iter().enumerate();
        columns
            .map(|(place, heading)| {
                let cells = self.rows.iter().map(|row| row[place].as_str());
                let content = content(heading, cells.clone());
                let cells: Vec<_> = cells
                    .map(|cell| if is_id(cell) { end(cell, length) } else { cell }.to_owned())
                    .collect();
                let heading = heading.to_uppercase();
                let widths = cells.iter().chain([&heading]).map(|cell| cell.width());
                Column {
                    width: widths.max().unwrap_or_default(),
                    heading,
                    cells,
                    content,
                }
            })
            .collect()
    }
}

fn total(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width).sum()
}

/// Makes columns narrower until they have this width together.
fn narrow(columns: &mut [Column], width: usize) {
    let natural: Vec<_> = columns.iter().map(|column| column.width).collect();
    for column in &mut *columns {
        column.width = column.width.min(width);
    }
    for (contents, least) in STEPS {
        while total(columns) > width {
            let wide = columns.iter_mut();
            let wide =
                wide.filter(|column| contents.contains(&column.content) && column.width > least);
            let Some(widest) = wide.max_by_key(|column| column.width) else {
                break;
            };
            // Between two forms of a time there is nothing to show.
            widest.width = if contents == [Content::Times] {
                least
            } else {
                widest.width - 1
            };
        }
    }
    // A shorter form of a time may leave room.
    while total(columns) < width {
        let cut = columns.iter_mut().zip(&natural);
        let cut = cut.filter(|(column, natural)| {
            column.content == Content::Text && column.width < **natural
        });
        let Some((narrowest, _)) = cut.min_by_key(|(column, _)| column.width) else {
            break;
        };
        narrowest.width += 1;
    }
}

/// Recognises the content of a column. A dash stands for nothing in every column.
fn content<'a>(heading: &str, cells: impl Iterator<Item = &'a str> + Clone) -> Content {
    let cells = cells.filter(|cell| !matches!(*cell, "-" | ""));
    let all =
        |is_one: fn(&str) -> bool| cells.clone().next().is_some() && cells.clone().all(is_one);
    if all(is_id) {
        Content::Ids
    } else if all(is_time) {
        Content::Times
    } else if NAMES.contains(&heading) {
        Content::Names
    } else {
        Content::Text
    }
}

/// Recognises the form that [`super::time`] writes.
fn is_time(cell: &str) -> bool {
    let form = b"0000-00-00 00:00:00";
    cell.len() == form.len()
        && cell.bytes().zip(form).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == *form,
        })
}

/// Returns the length of the ends at which the ids differ.
fn unique_length(ids: &[&str]) -> usize {
    let mut backwards: Vec<Vec<u8>> = ids.iter().map(|id| id.bytes().rev().collect()).collect();
    backwards.sort_unstable();
    backwards.dedup();
    let shared = backwards.windows(2).map(|pair| {
        let same = pair[0].iter().zip(&pair[1]);
        same.take_while(|(one, other)| one == other).count()
    });
    shared.max().map_or(0, |shared| shared + 1).max(SHORTEST_ID)
}

/// Returns the last characters of an id. An end that began with a dash would look like an option.
fn end(id: &str, length: usize) -> &str {
    let end = &id[id.len() - length..];
    if end.starts_with('-') {
        &id[id.len() - length - 1..]
    } else {
        end
    }
}

fn line<'a>(columns: &'a [Column], cell: impl Fn(&'a Column) -> &'a str) -> String {
    let mut line = String::new();
    for column in columns {
        let shown = cut(cell(column), column);
        let padding = column.width.saturating_sub(shown.width());
        // Writing to a string cannot fail.
        let _ = write!(line, "{shown}{:padding$}{GAP}", "");
    }
    line.trim_end().to_owned()
}

/// Cuts a cell to the width of its column. The end of a text that is cut is marked.
fn cut(cell: &str, column: &Column) -> String {
    if cell.width() <= column.width {
        return cell.to_owned();
    }
    if column.content == Content::Times
        && is_time(cell)
        && let Some(length) = [TO_THE_MINUTE, DATE]
            .into_iter()
            .find(|length| *length <= column.width)
    {
        return cell[..length].to_owned();
    }
    let mut width = 0;
    let fits = |character: &char| {
        width += character.width().unwrap_or(0);
        width < column.width
    };
    let kept: String = cell.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

fn terminal_width() -> Option<usize> {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|width| *width > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "01a1eccf-0407-743e-9681-0684472a27bb";
    const SECOND: &str = "01a1eccf-0407-743e-9681-0684272a27bb";

    fn table() -> Table {
        let mut table = Table::new("No mail", &["id", "sent", "from", "state", "subject"]);
        let subject =
            "The parser reads every date of the archive, but not yet in the order of the calendar";
        table.row([FIRST, "2026-11-18 03:59:12", "operator", "unread", subject]);
        table.row([SECOND, "-", "実装者", "read", "Short"]);
        table
    }

    #[test]
    fn a_wide_terminal_shows_everything_but_the_beginnings_of_ids() {
        insta::assert_snapshot!(table().fit(Some(200)), @"
        ID        SENT                 FROM      STATE   SUBJECT
        472a27bb  2026-11-18 03:59:12  operator  unread  The parser reads every date of the archive, but not yet in the order of the calendar
        272a27bb  -                    実装者    read    Short
        ");
        assert_eq!(table().fit(None), table().fit(Some(200)));
    }

    #[test]
    fn a_narrow_terminal_cuts_the_longest_text_first() {
        insta::assert_snapshot!(table().fit(Some(80)), @"
        ID        SENT                 FROM      STATE   SUBJECT
        472a27bb  2026-11-18 03:59:12  operator  unread  The parser reads every date of…
        272a27bb  -                    実装者    read    Short
        ");
        insta::assert_snapshot!(table().fit(Some(60)), @"
        ID        SENT        FROM      STATE   SUBJECT
        472a27bb  2026-11-18  operator  unread  The parser reads ev…
        272a27bb  -           実装者    read    Short
        ");
        insta::assert_snapshot!(table().fit(Some(40)), @"
        ID        SENT    FROM    STATE   SUBJE…
        472a27bb  2026-…  opera…  unread  The p…
        272a27bb  -       実装者  read    Short
        ");
    }

    #[test]
    fn every_line_fits_however_narrow_the_terminal_is() {
        for width in 20..=200 {
            for line in table().fit(Some(width)).lines() {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }

    /// Quadratic work would take minutes.
    #[test]
    fn a_word_of_a_million_characters_is_cut_to_the_terminal() {
        let mut table = Table::new("No notes", &["id", "description", "note"]);
        table.row([FIRST, &"a".repeat(1_000_000), &"実".repeat(1_000_000)]);
        table.row([SECOND, "short", "-"]);
        insta::assert_snapshot!(table.fit(Some(80)), @"
        ID        DESCRIPTION                         NOTE
        472a27bb  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…  実実実実実実実実実実実実実実実実…
        272a27bb  short                               -
        ");
    }

    #[test]
    fn a_pipe_gets_everything() {
        assert!(table().separated().starts_with(&format!(
            "{FIRST}\t2026-11-18 03:59:12\toperator\tunread\tThe parser"
        )));
    }

    #[test]
    fn ids_are_as_long_as_it_takes_to_tell_them_apart() {
        assert_eq!(unique_length(&[]), 8);
        assert_eq!(unique_length(&[FIRST, FIRST]), 8);
        assert_eq!(unique_length(&[FIRST, SECOND]), 8);
        let third = "01a1eccf-0407-743e-9682-0684472a27bb";
        assert_eq!(unique_length(&[FIRST, third]), 14);
        assert_eq!(end(FIRST, 12), "0684472a27bb");
        assert_eq!(end(FIRST, 13), "1-0684472a27bb");
    }
}
