//! Aligned text for people: numbers to the right, lists shortened, nothing that can drive a terminal.
//!
//! Widths come from the first rows; later rows follow as they come, so memory stays small. On a
//! terminal, columns that do not fit are left out, and the last line says which. A number is never
//! shortened.

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, CellAlignment, ColumnConstraint, Width};

use super::destination::Destination;
use super::text::{escape_controls, push_json_cell};
use super::{Cell, Column, Kind, OutputError, Row, Writer};

/// Rows that widths are taken from, and rows that are printed at once after that.
const CHUNK: usize = 40;
/// Longest text shown, in characters: a line of chat, not a whole response.
const TEXT_CAP: usize = 60;
/// Blanks between columns.
const GAP: u16 = 2;

/// What the table is printed on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// Characters a line; none is as wide as it takes.
    pub width: Option<usize>,
    /// Whether missing values are dimmed and the header is bold.
    pub color: bool,
}

impl Look {
    pub(super) fn of(destination: &Destination, color: bool) -> Self {
        let width = if destination.is_terminal() { terminal_width() } else { None };
        Self { width, color }
    }
}

/// `COLUMNS` if it is set, else what the terminal says.
fn terminal_width() -> Option<usize> {
    if let Some(columns) = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()) {
        return Some(columns);
    }
    // SAFETY: all-zero bytes are a valid `winsize`, and the call writes nothing but that.
    let size = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        if libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) != 0 {
            return None;
        }
        size
    };
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

pub(super) struct Table {
    destination: Destination,
    columns: Vec<Column>,
    look: Look,
    /// Rows not printed yet; none is a missing value.
    held: Vec<Vec<Option<String>>>,
    /// Widths of the columns that are shown; empty before the first rows are printed.
    widths: Vec<u16>,
    started: bool,
    rows: u64,
}

impl Table {
    pub(super) fn new(destination: Destination, columns: &[Column], look: Look) -> Self {
        Self {
            destination,
            columns: columns.to_vec(),
            look,
            held: Vec::new(),
            widths: Vec::new(),
            started: false,
            rows: 0,
        }
    }

    /// Prints the rows held, the header first if it is still due.
    fn print_held(&mut self) {
        let first = !self.started;
        let shown = if first { self.columns.len() } else { self.widths.len() };
        let mut table = self.build(shown, first);
        let natural = table.column_max_content_widths();
        if first {
            self.widths = fitting(&natural, self.look.width);
            if self.widths.len() < shown {
                table = self.build(self.widths.len(), true);
            }
            self.started = true;
        }
        let last = self.widths.len().saturating_sub(1);
        for (at, (&width, &natural)) in self.widths.iter().zip(&natural).enumerate() {
            if let Some(column) = table.column_mut(at) {
                let gap = if at == last { 0 } else { GAP };
                column.set_padding((0, gap));
                column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width.max(natural) + gap)));
            }
        }
        let out = self.destination.buffer();
        for line in table.lines() {
            out.extend_from_slice(line.trim_end().as_bytes());
            out.push(b'\n');
        }
        self.held.clear();
    }

    fn build(&self, shown: usize, header: bool) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING);
        if self.look.color {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        if header {
            table.set_header(self.columns.iter().take(shown).map(|column| {
                comfy_table::Cell::new(escape_controls(&column.name))
                    .set_alignment(alignment(column.kind))
                    .add_attribute(Attribute::Bold)
            }));
        }
        for row in &self.held {
            table.add_row(self.columns.iter().zip(row).take(shown).map(|(column, text)| {
                let cell = match text {
                    Some(text) => comfy_table::Cell::new(text),
                    None => comfy_table::Cell::new("null").add_attribute(Attribute::Dim),
                };
                cell.set_alignment(alignment(column.kind))
            }));
        }
        table
    }

    /// What the reader does not see, if anything.
    fn footer(&self, cut: bool) -> Option<String> {
        let hidden = self.columns.get(self.widths.len()..).unwrap_or_default();
        let mut parts = Vec::new();
        if cut {
            parts.push(format!("the first {} rows, cut by --limit", self.rows));
        } else if self.rows == 0 {
            parts.push("no rows".into());
        }
        if !hidden.is_empty() {
            let names: Vec<String> = hidden.iter().map(|column| escape_controls(&column.name)).collect();
            parts.push(format!("columns that do not fit, see --columns: {}", names.join(", ")));
        }
        if parts.is_empty() { None } else { Some(format!("({})", parts.join("; "))) }
    }
}

impl Writer for Table {
    fn row(&mut self, row: Row<'_>) -> Result<(), OutputError> {
        self.held.push(row.iter().map(shorten).collect());
        self.rows += 1;
        if self.held.len() >= CHUNK {
            self.print_held();
            return self.destination.spill_now();
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, cut: bool) -> Result<Destination, OutputError> {
        if !self.held.is_empty() || !self.started {
            self.print_held();
        }
        if let Some(footer) = self.footer(cut) {
            let out = self.destination.buffer();
            out.extend_from_slice(footer.as_bytes());
            out.push(b'\n');
        }
        Ok(self.destination)
    }
}

fn alignment(kind: Kind) -> CellAlignment {
    match kind {
        Kind::Int | Kind::Float32 | Kind::Float64 => CellAlignment::Right,
        _ => CellAlignment::Left,
    }
}

/// As many columns from the left as a line holds, at least one.
fn fitting(natural: &[u16], width: Option<usize>) -> Vec<u16> {
    let Some(width) = width else {
        return natural.to_vec();
    };
    let mut used = 0;
    let mut fit = Vec::new();
    for &column in natural {
        used += usize::from(column) + if fit.is_empty() { 0 } else { usize::from(GAP) };
        if used > width && !fit.is_empty() {
            break;
        }
        fit.push(column);
    }
    fit
}

/// A cell as one short line, or none if it is missing.
fn shorten(cell: &Cell<'_>) -> Option<String> {
    let text = match cell {
        Cell::Null => return None,
        Cell::F32(value) if !value.is_finite() => return None,
        Cell::F64(value) if !value.is_finite() => return None,
        Cell::Text(text) | Cell::Json(text) => shorten_text(text),
        Cell::Ints(items) => shorten_list(items.len(), |at| Cell::Int(items[at].into())),
        Cell::Mask(items) => shorten_list(items.len(), |at| Cell::Int(items[at].into())),
        Cell::Floats(items) => shorten_list(items.len(), |at| Cell::F32(items[at])),
        Cell::Texts(items) => shorten_list(items.len(), |at| match &items[at] {
            Some(text) => Cell::Text(shorten_text(text).into()),
            None => Cell::Null,
        }),
        plain => json_text(plain),
    };
    Some(text)
}

fn json_text(cell: &Cell<'_>) -> String {
    let mut bytes = Vec::new();
    push_json_cell(&mut bytes, cell);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `[1, 2, … 40]`: the first two and the last of a list longer than four.
fn shorten_list<'a>(len: usize, item: impl Fn(usize) -> Cell<'a>) -> String {
    let text = |at| escape_controls(&json_text(&item(at)));
    if len > 4 {
        return format!("[{}, {}, … {}]", text(0), text(1), text(len - 1));
    }
    let items: Vec<String> = (0..len).map(text).collect();
    format!("[{}]", items.join(", "))
}

fn shorten_text(text: &str) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(TEXT_CAP).collect();
    if chars.next().is_some() {
        short.pop();
        short.push('…');
    }
    escape_controls(&short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_shows_its_ends() {
        let items: Vec<i32> = (1..=40).collect();
        assert_eq!(shorten(&Cell::from(&items[..])).as_deref(), Some("[1, 2, … 40]"));
        assert_eq!(shorten(&Cell::from(&[0.5_f32, f32::NAN][..])).as_deref(), Some("[0.5, null]"));
        assert_eq!(shorten(&Cell::from(&[0_i8; 0][..])).as_deref(), Some("[]"));
    }

    #[test]
    fn a_long_text_is_cut_and_its_controls_are_escaped() {
        assert_eq!(shorten(&Cell::from("a\u{1b}[2Jb")).as_deref(), Some("a\\u{1b}[2Jb"));
        let long = shorten(&Cell::from("x".repeat(100))).unwrap();
        assert_eq!(long.chars().count(), TEXT_CAP);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn columns_fit_from_the_left_and_at_least_one_is_shown() {
        assert_eq!(fitting(&[10, 10, 10], Some(22)), [10, 10]);
        assert_eq!(fitting(&[50, 10], Some(20)), [50]);
        assert_eq!(fitting(&[50, 10], None), [50, 10]);
    }
}
