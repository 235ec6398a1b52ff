//! Aligned text for people: numbers to the right, lists shortened, nothing that can drive a terminal.
//!
//! Widths come from the first rows; later rows follow as they come, so memory stays small. On a
//! terminal that is too narrow, texts are cut harder, then columns are left out, and the last line
//! says which. A number is never shortened.

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, CellAlignment, ColumnConstraint, Width};

use super::destination::Destination;
use super::text::{escape_controls, push_json_cell};
use super::{Cell, Column, Kind, OutputError, Row, Writer};

/// Rows that widths are taken from, and rows that are printed at once after that.
const CHUNK: usize = 40;
/// Longest text shown, in characters: a line of chat, not a whole response.
const TEXT_CAP: usize = 60;
/// The same where the line is too narrow for all columns.
const NARROW_TEXT_CAP: usize = 24;
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
    text_cap: usize,
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
            text_cap: TEXT_CAP,
            rows: 0,
        }
    }

    /// Prints the rows held, the header first if it is still due.
    fn print_held(&mut self) {
        if !self.started {
            self.lay_out();
        }
        let mut table = self.build(self.widths.len(), !self.started);
        let natural = table.column_max_content_widths();
        self.started = true;
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

    /// Settles which columns are shown and how wide, from the rows held.
    fn lay_out(&mut self) {
        let natural = self.build(self.columns.len(), true).column_max_content_widths();
        self.widths = fitting(&natural, self.look.width);
        if self.widths.len() == self.columns.len() {
            return;
        }
        self.text_cap = NARROW_TEXT_CAP;
        for row in &mut self.held {
            for (column, text) in self.columns.iter().zip(row) {
                if let (Kind::Text | Kind::Json, Some(text)) = (column.kind, text) {
                    *text = shorten_text(text, NARROW_TEXT_CAP);
                }
            }
        }
        let natural = self.build(self.columns.len(), true).column_max_content_widths();
        self.widths = fitting(&natural, self.look.width);
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
            parts.push(match self.rows {
                0 => "no rows, cut by --limit".to_owned(),
                1 => "the first row, cut by --limit".to_owned(),
                n => format!("the first {n} rows, cut by --limit"),
            });
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
        self.held.push(row.iter().map(|cell| shorten(cell, self.text_cap)).collect());
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
        Kind::Int | Kind::Int32 | Kind::Float32 | Kind::Float64 => CellAlignment::Right,
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
fn shorten(cell: &Cell<'_>, text_cap: usize) -> Option<String> {
    let text = match cell {
        Cell::Null => return None,
        Cell::F32(value) if !value.is_finite() => return None,
        Cell::F64(value) if !value.is_finite() => return None,
        Cell::Text(text) | Cell::Json(text) => shorten_text(text, text_cap),
        Cell::Ints(items) => shorten_list(items.len(), |at| Cell::Int(items[at].into())),
        Cell::Mask(items) => shorten_list(items.len(), |at| Cell::Int(items[at].into())),
        Cell::Floats(items) => shorten_list(items.len(), |at| Cell::F32(items[at])),
        Cell::Texts(items) => shorten_list(items.len(), |at| match &items[at] {
            Some(text) => Cell::Text(shorten_text(text, text_cap).into()),
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

fn shorten_text(text: &str, cap: usize) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(cap).collect();
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
        assert_eq!(shorten(&Cell::from(&items[..]), TEXT_CAP).as_deref(), Some("[1, 2, … 40]"));
        assert_eq!(shorten(&Cell::from(&[0.5_f32, f32::NAN][..]), TEXT_CAP).as_deref(), Some("[0.5, null]"));
        assert_eq!(shorten(&Cell::from(&[0_i8; 0][..]), TEXT_CAP).as_deref(), Some("[]"));
    }

    #[test]
    fn a_long_text_is_cut_and_its_controls_are_escaped() {
        assert_eq!(shorten(&Cell::from("a\u{1b}[2Jb"), TEXT_CAP).as_deref(), Some("a\\u{1b}[2Jb"));
        let long = shorten(&Cell::from("x".repeat(100)), TEXT_CAP).unwrap();
        assert_eq!(long.chars().count(), TEXT_CAP);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn columns_fit_from_the_left_and_at_least_one_is_shown() {
        assert_eq!(fitting(&[10, 10, 10], Some(22)), [10, 10]);
        assert_eq!(fitting(&[50, 10], Some(20)), [50]);
        assert_eq!(fitting(&[50, 10], None), [50, 10]);
    }

    #[test]
    fn a_narrow_terminal_cuts_texts_first_and_then_names_what_it_leaves_out() {
        let columns = [
            Column::new("n", Kind::Int),
            Column::new("response", Kind::Text),
            Column::new("status", Kind::Text),
            Column::new("reward", Kind::Float32),
        ];
        let print = |width| {
            let bytes = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
            let look = Look { width: Some(width), color: false };
            let mut table =
                Box::new(Table::new(Destination::sink(Box::new(Into(bytes.clone()))), &columns, look));
            let cells = [Cell::from(1), Cell::from("x".repeat(80)), Cell::from("done"), Cell::from(0.5_f32)];
            table.row(Row { cells: &cells, picks: &[0, 1, 2, 3] }).unwrap();
            table.finish(false).unwrap().commit().unwrap();
            String::from_utf8(bytes.lock().unwrap().clone()).unwrap()
        };
        let all = print(80);
        assert!(all.contains("reward") && all.contains('…') && !all.contains('('), "{all}");
        let some = print(36);
        assert!(some.ends_with("(columns that do not fit, see --columns: reward)\n"), "{some}");
        assert!(some.lines().take(2).all(|line| line.chars().count() <= 36), "{some}");
    }

    struct Into(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl std::io::Write for Into {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
}
