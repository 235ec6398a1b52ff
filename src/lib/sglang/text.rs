//! The text format in which Prometheus' clients expose metrics, read line by line.
//!
//! What is a sample and what it means is as in Prometheus' own parser (its `promparse`): blanks between any
//! two tokens, a comma that may trail or be missing between labels, three escapes in quoted text and any
//! other backslash kept, names in quotes inside the braces, numbers as Go reads them. From OpenMetrics come
//! exemplars, times with a fraction and a few more types; `# EOF` is a comment. Where Prometheus gives a
//! whole answer up, one line is given up here and the rest stays.
//!
//! Every line is checked, wanted or not, so that the count of malformed lines is true. Nothing is copied but
//! a text with escapes.

use std::borrow::Cow;

use memchr::memchr;

/// What a metric family is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, until its process restarts.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Samples `_bucket`, `_sum` and `_count`.
    Histogram,
    /// Samples with a `quantile`, and `_sum` and `_count`.
    Summary,
    /// Untyped, or one of OpenMetrics' others.
    Other,
}

/// A line that says something.
#[derive(Debug, Clone, PartialEq)]
pub enum Line<'a> {
    /// `# TYPE family kind`
    Type(Cow<'a, str>, Kind),
    /// One value.
    Sample(Sample<'a>),
}

/// One value of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// Name as it was exposed, `sglang:x` or `sglang_x`.
    pub name: Cow<'a, str>,
    /// The value, which can be NaN or infinite.
    pub value: f64,
    /// What lies between the braces; known to be well-formed.
    labels: &'a str,
}

impl<'a> Sample<'a> {
    /// Names and values of the labels, in their order, empty values included (to Prometheus a label with an
    /// empty value is a label that is not there).
    #[must_use]
    pub fn labels(&self) -> Labels<'a> {
        Labels { cursor: Cursor { text: self.labels, at: 0 } }
    }
}

/// A line that is none of the format's. Its text is not kept: it can be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct Malformed {
    /// Number of the line, from 1.
    pub line: u64,
    /// What is missing or wrong.
    pub reason: &'static str,
}

/// The lines of one answer. Blank lines and comments are passed over.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    rest: &'a [u8],
    line: u64,
}

impl<'a> Lines<'a> {
    /// The lines of `text`.
    #[must_use]
    pub const fn new(text: &'a [u8]) -> Self {
        Self { rest: text, line: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Result<Line<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = memchr(b'\n', self.rest).unwrap_or(self.rest.len());
            let (line, rest) = self.rest.split_at(end);
            self.rest = rest.get(1..).unwrap_or_default();
            self.line += 1;
            let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            let line = line.get(blanks..).unwrap_or_default();
            let read = match (line.first(), str::from_utf8(line)) {
                (None, _) => continue,
                (Some(b'#'), Ok(text)) => Cursor { text, at: 0 }.comment().transpose(),
                // Help can be in any encoding.
                (Some(b'#'), Err(_)) => continue,
                (Some(_), Ok(text)) => Some(Cursor { text, at: 0 }.sample().map(Line::Sample)),
                (Some(_), Err(_)) => Some(Err("a text is not UTF-8")),
            };
            let line = self.line;
            if let Some(read) = read {
                return Some(read.map_err(|reason| Malformed { line, reason }));
            }
        }
        None
    }
}

/// Labels of a [`Sample`].
#[derive(Debug, Clone)]
pub struct Labels<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Iterator for Labels<'a> {
    type Item = (Cow<'a, str>, Cow<'a, str>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.cursor.entry() {
                Ok(Some(Entry::Label(name, value))) => return Some((name, value)),
                Ok(Some(Entry::Name(_))) => {}
                // Well-formed by construction: an error cannot be, and would end the list.
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

/// What stands between two commas inside the braces.
enum Entry<'a> {
    Label(Cow<'a, str>, Cow<'a, str>),
    /// The metric's own name, in quotes.
    Name(Cow<'a, str>),
}

/// What is missing or wrong.
type Reason = &'static str;

/// May begin a name of a label.
const LETTER: u8 = 1;
/// May begin a name of a metric.
const COLON: u8 = 2;
/// May go on in a name.
const DIGIT: u8 = 4;
/// Ends a quoted text, or escapes something in it.
const QUOTE: u8 = 8;

/// What each byte may be. A name or a quoted text is a few bytes: looking them up one by one is faster than
/// any search that has to be begun.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        class[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => LETTER,
            b':' => COLON,
            b'0'..=b'9' => DIGIT,
            b'"' | b'\\' => QUOTE,
            _ => 0,
        };
        byte += 1;
    }
    class
};

/// A place in a line.
#[derive(Debug, Clone, Copy)]
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Passes over bytes that are of these classes, or, unless they are `wanted`, over those that are not.
    fn pass(&mut self, classes: u8, wanted: bool) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let is = |byte: &u8| CLASS[usize::from(*byte)] & classes != 0;
        self.at += rest.iter().position(|byte| is(byte) != wanted).unwrap_or(rest.len());
    }

    /// Passes over blanks, and answers whether there were any.
    fn blanks(&mut self) -> bool {
        let before = self.at;
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.at > before
    }

    /// What lies between `start` and here. Both are beside an ASCII byte, so nothing is cut.
    fn from(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// What is left.
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// A name; empty when there is none. `colons` are a metric's alone.
    fn name(&mut self, colons: bool) -> &'a str {
        let start = self.at;
        let letters = if colons { LETTER | COLON } else { LETTER };
        if self.peek().is_some_and(|byte| CLASS[usize::from(byte)] & letters != 0) {
            self.pass(letters | DIGIT, true);
        }
        self.from(start)
    }

    /// The rest of a quoted text, its first quote already taken.
    fn quoted(&mut self) -> Result<Cow<'a, str>, Reason> {
        let start = self.at;
        let mut escapes = false;
        loop {
            self.pass(QUOTE, false);
            match self.peek() {
                Some(b'"') => break,
                Some(_) => {
                    escapes = true;
                    self.at += 2; // an escape and what it escapes, or the first byte of that
                }
                None => return Err("a quote is not closed"),
            }
        }
        let text = self.from(start);
        self.at += 1;
        Ok(if escapes { Cow::Owned(unescaped(text)) } else { Cow::Borrowed(text) })
    }

    /// `# …`: a type, or nothing that matters.
    fn comment(&mut self) -> Result<Option<Line<'a>>, Reason> {
        self.at += 1;
        if !self.blanks() || !self.rest().starts_with("TYPE") {
            return Ok(None);
        }
        self.at += 4;
        if !self.blanks() {
            return Ok(None);
        }
        let family = if self.take(b'"') { self.quoted()? } else { Cow::Borrowed(self.name(true)) };
        if family.is_empty() || !(self.blanks() || self.peek().is_none()) {
            return Err("TYPE without the name of a metric");
        }
        let kind = match self.rest().trim_ascii() {
            "counter" => Kind::Counter,
            "gauge" => Kind::Gauge,
            "histogram" => Kind::Histogram,
            "summary" => Kind::Summary,
            "untyped" | "unknown" | "info" | "stateset" | "gaugehistogram" => Kind::Other,
            _ => return Err("TYPE that is none"),
        };
        Ok(Some(Line::Type(family, kind)))
    }

    fn sample(&mut self) -> Result<Sample<'a>, Reason> {
        let mut name = Cow::Borrowed(self.name(true));
        self.blanks();
        let mut labels = "";
        if self.take(b'{') {
            let start = self.at;
            while let Some(entry) = self.entry()? {
                if let Entry::Name(quoted) = entry {
                    if !name.is_empty() {
                        return Err("two names of a metric");
                    }
                    name = quoted;
                }
            }
            labels = self.from(start);
            if !self.take(b'}') {
                return Err("a brace is not closed");
            }
            self.blanks();
        }
        if name.is_empty() {
            return Err("no name of a metric");
        }
        let value = self.number().ok_or("no value")?;
        self.time_and_exemplar()?;
        Ok(Sample { name, value, labels })
    }

    /// The next entry inside the braces, with the comma behind it; `None` at the closing brace or the end.
    fn entry(&mut self) -> Result<Option<Entry<'a>>, Reason> {
        self.blanks();
        let quoted = self.take(b'"');
        let name = if quoted { self.quoted()? } else { Cow::Borrowed(self.name(false)) };
        if name.is_empty() && !quoted {
            return match self.peek() {
                None | Some(b'}') => Ok(None),
                Some(_) => Err("no name of a label"),
            };
        }
        self.blanks();
        let entry = if self.take(b'=') {
            self.blanks();
            if !self.take(b'"') {
                return Err("a label without a quoted value");
            }
            Entry::Label(name, self.quoted()?)
        } else if quoted && matches!(self.peek(), None | Some(b',' | b'}')) {
            Entry::Name(name)
        } else {
            return Err("a label without a value");
        };
        self.blanks();
        if self.take(b',') {
            self.blanks();
        }
        Ok(Some(entry))
    }

    /// A number, as Go reads one: no underscores, no powers of two, nothing beyond the largest.
    fn number(&mut self) -> Option<f64> {
        let start = self.at;
        while self.peek().is_some_and(|byte| !matches!(byte, b' ' | b'\t' | b'{')) {
            self.at += 1;
        }
        let text = self.from(start);
        let value: f64 = text.parse().ok()?;
        // Go has one NaN, without a sign, and calls what is too large an error.
        let signed = text.starts_with(['+', '-']);
        let wrong = if value.is_nan() { signed } else { value.is_infinite() && text.contains(digit) };
        (!wrong).then_some(value)
    }

    /// What may follow a value: a time, then an exemplar. Neither is of use here.
    fn time_and_exemplar(&mut self) -> Result<(), Reason> {
        self.blanks();
        if self.peek().is_some_and(|byte| byte != b'#') {
            self.number().filter(|time| time.is_finite()).ok_or("a time that is no number")?;
            self.blanks();
        }
        if self.take(b'#') {
            self.blanks();
            if !self.take(b'{') {
                return Err("an exemplar without labels");
            }
            while self.entry()?.is_some() {}
            if !self.take(b'}') {
                return Err("a brace is not closed");
            }
            self.blanks();
            self.number().ok_or("an exemplar without a value")?;
            if self.blanks() && self.peek().is_some() {
                self.number().ok_or("an exemplar's time that is no number")?;
                self.blanks();
            }
        }
        if self.peek().is_some() { Err("more than a value and a time") } else { Ok(()) }
    }
}

fn digit(character: char) -> bool {
    character.is_ascii_digit()
}

/// `\\`, `\"` and `\n` mean a backslash, a quote and a newline; any other backslash means itself.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (meant, length) = match escape.as_bytes().get(1) {
            Some(b'\\') => ('\\', 2),
            Some(b'"') => ('"', 2),
            Some(b'n') => ('\n', 2),
            _ => ('\\', 1),
        };
        out.push(meant);
        rest = escape.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}
