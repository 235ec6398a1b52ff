//! Prometheus' text format once more, from its grammar and without any haste: tokens first, then what they
//! mean. The scanner must agree with it.

use miles::sglang::text::Kind;

/// What the reference makes of a line: nothing, a sample, or a mistake.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    Nothing,
    Type(String, Kind),
    Sample { name: String, labels: Vec<(String, String)>, value: String },
    Wrong,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Quoted(String),
    Mark(char),
}

/// Tokens of a line with the blanks before each; `None` where a quote stays open.
fn tokens(line: &[char]) -> Option<Vec<(bool, Token)>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut blank = false;
    while at < line.len() {
        let c = line[at];
        at += 1;
        match c {
            ' ' | '\t' => blank = true,
            '{' | '}' | '=' | ',' => tokens.push((std::mem::take(&mut blank), Token::Mark(c))),
            '"' => {
                let mut text = String::new();
                loop {
                    let c = *line.get(at)?;
                    at += 1;
                    match (c, line.get(at)) {
                        ('"', _) => break,
                        ('\\', None) => return None,
                        ('\\', Some('n')) => text.push('\n'),
                        ('\\', Some(c @ ('"' | '\\'))) => text.push(*c),
                        ('\\', Some(c)) => text.extend(['\\', *c]),
                        (c, _) => text.push(c),
                    }
                    at += usize::from(c == '\\');
                }
                tokens.push((std::mem::take(&mut blank), Token::Quoted(text)));
            }
            c => {
                let mut text = String::from(c);
                while let Some(c) = line.get(at).filter(|c| !" \t{}=,\"".contains(**c)) {
                    text.push(*c);
                    at += 1;
                }
                tokens.push((std::mem::take(&mut blank), Token::Word(text)));
            }
        }
    }
    Some(tokens)
}

fn is_name(word: &str, colons: bool) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_' || (colons && c == ':');
    let mut chars = word.chars();
    chars.next().is_some_and(letter) && chars.all(|c| letter(c) || c.is_ascii_digit())
}

fn number(word: &str) -> Option<f64> {
    let lower = word.to_ascii_lowercase();
    match lower.trim_start_matches(['+', '-']) {
        "nan" => (lower == "nan").then_some(f64::NAN),
        "inf" | "infinity" if lower.len() <= "-infinity".len() => lower.parse().ok(),
        digits if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
            word.parse().ok().filter(|value: &f64| value.is_finite())
        }
        _ => None,
    }
}

/// Entries between braces, the opening one taken; the rest of the tokens behind the closing one.
type Entries<'t> = (Vec<(String, Option<String>)>, &'t [(bool, Token)]);

fn entries(mut rest: &[(bool, Token)]) -> Option<Entries<'_>> {
    let mut entries = Vec::new();
    loop {
        let name = match rest.first()? {
            (_, Token::Mark('}')) => return Some((entries, &rest[1..])),
            (_, Token::Word(word)) if is_name(word, false) => word.clone(),
            (_, Token::Quoted(text)) => text.clone(),
            _ => return None,
        };
        let quoted = matches!(rest[0].1, Token::Quoted(_));
        match (rest.get(1).map(|t| &t.1)?, rest.get(2).map(|t| &t.1)) {
            (Token::Mark('='), Some(Token::Quoted(value))) => {
                entries.push((name, Some(value.clone())));
                rest = &rest[3..];
            }
            (Token::Mark(',' | '}'), _) if quoted => {
                entries.push((name, None));
                rest = &rest[1..];
            }
            _ => return None,
        }
        if let Some((_, Token::Mark(','))) = rest.first() {
            rest = &rest[1..];
        }
    }
}

pub fn line(text: &str) -> Read {
    let trimmed = text.trim_start_matches([' ', '\t']);
    if trimmed.is_empty() {
        return Read::Nothing;
    }
    if let Some(rest) = trimmed.strip_prefix('#') {
        return comment(rest);
    }
    let chars: Vec<char> = trimmed.chars().collect();
    sample(&chars).unwrap_or(Read::Wrong)
}

fn sample(chars: &[char]) -> Option<Read> {
    // A name ends where a brace or anything else that is none of it begins.
    let end = chars.iter().position(|c| !(c.is_ascii_alphanumeric() || "_:".contains(*c)));
    let (name, rest) = chars.split_at(end.unwrap_or(chars.len()));
    let mut name: String = name.iter().collect();
    if !name.is_empty() && !is_name(&name, true) {
        return None;
    }
    let all = tokens(rest)?;
    let mut rest = all.as_slice();
    let mut labels = Vec::new();
    if let Some((_, Token::Mark('{'))) = rest.first() {
        let (found, behind) = entries(&rest[1..])?;
        rest = behind;
        for (label, value) in found {
            match value {
                Some(value) => labels.push((label, value)),
                None if name.is_empty() => name = label,
                None => return None,
            }
        }
    }
    if name.is_empty() {
        return None;
    }
    let value = number(word(rest.first()?)?)?;
    rest = &rest[1..];
    if let Some(time) = rest.first().and_then(word).filter(|word| *word != "#") {
        number(time).filter(|time| time.is_finite())?;
        rest = &rest[1..];
    }
    if let Some("#") = rest.first().and_then(word) {
        let (_, Token::Mark('{')) = rest.get(1)? else { return None };
        let (_, behind) = entries(&rest[2..])?;
        number(word(behind.first()?)?)?;
        rest = &behind[1..];
        if let Some(time) = rest.first().and_then(word) {
            number(time)?;
            rest = &rest[1..];
        }
    }
    rest.is_empty().then(|| Read::Sample { name, labels, value: format!("{value:?}") })
}

fn word(token: &(bool, Token)) -> Option<&str> {
    match &token.1 {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

fn comment(text: &str) -> Read {
    let Some(rest) = text.strip_prefix([' ', '\t']) else { return Read::Nothing };
    let rest = rest.trim_start_matches([' ', '\t']);
    let Some(rest) = rest.strip_prefix("TYPE").filter(|rest| rest.starts_with([' ', '\t'])) else {
        return Read::Nothing;
    };
    let mut words = rest.split([' ', '\t']).filter(|word| !word.is_empty());
    let (name, kind) = (words.next(), words.next());
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let is_name = |name: &&str| name.chars().all(letter) && !name.starts_with(|c: char| c.is_ascii_digit());
    let kind = match kind {
        Some("counter") => Kind::Counter,
        Some("gauge") => Kind::Gauge,
        Some("histogram") => Kind::Histogram,
        Some("summary") => Kind::Summary,
        Some("untyped" | "unknown" | "info" | "stateset" | "gaugehistogram") => Kind::Other,
        _ => return Read::Wrong,
    };
    match name.filter(is_name) {
        Some(name) if words.next().is_none() => Read::Type(name.to_owned(), kind),
        _ => Read::Wrong,
    }
}
