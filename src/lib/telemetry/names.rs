//! Names of the engines' metrics, from both ends of every file.
//!
//! A server is asked for them before anything else, on runs of hundreds of engines and days. Almost every line
//! has a name that is known already, and is then not looked at further.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use memchr::memmem::Finder;
use rayon::prelude::*;

use super::Partition;
use super::column::{Build, Columns, EngineBlock};
use super::hourly::EDGE;
use super::lines::Lines;
use super::tail::{Opened, Stat};
use crate::record::{Record, decode};

static METRIC: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"metric\":"));
static LABELS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"labels\":"));

type Names = BTreeSet<String>;

/// What was found in each file.
#[derive(Debug, Default)]
pub(super) struct EngineNames {
    files: HashMap<PathBuf, (Stat, Arc<Names>)>,
}

impl EngineNames {
    /// Names in the first and the last lines of these files. One that cannot be read has none: whoever wants its
    /// rows is told.
    pub(super) fn of(&mut self, files: &[Partition]) -> Names {
        let found = files.par_iter().filter_map(|file| {
            let opened = Opened::open(&file.path).ok()??;
            let known = self.files.get(&file.path).filter(|(stat, _)| *stat == opened.stat);
            let names = match known {
                Some((_, names)) => Arc::clone(names),
                None => Arc::new(ends(&opened, file).ok()?),
            };
            Some((file.path.clone(), (opened.stat, names)))
        });
        self.files = found.collect();
        self.files.values().flat_map(|(_, names)| names.iter().cloned()).collect()
    }
}

fn ends(opened: &Opened, file: &Partition) -> io::Result<Names> {
    let mut names = Names::new();
    let size = opened.stat.size;
    lines(opened, file, 0, EDGE.min(size), &mut names)?;
    if size > EDGE {
        lines(opened, file, size - EDGE, size, &mut names)?;
    }
    Ok(names)
}

/// Adds the names in the complete lines that start in `[start, end)`.
fn lines(opened: &Opened, file: &Partition, start: u64, end: u64, names: &mut Names) -> io::Result<()> {
    let from = start.saturating_sub(1);
    let mut lines = Lines::new(opened.range(from, u64::MAX), from);
    if start > 0 {
        lines.next_line()?;
    }
    let mut scratch = String::new();
    while lines.offset() < end {
        let Some(line) = lines.next_line()? else { break };
        let Some(bytes) = line.bytes.filter(|bytes| !is_known(bytes, names)) else { continue };
        let Ok(Some(decoded)) = decode(EngineBlock::STREAM, bytes, &mut scratch) else { continue };
        let row = <EngineBlock as Columns>::Builder::default().read(&decoded.record);
        let believable = row.is_ok_and(|(_, numbers)| file.times().contains(&EngineBlock::time(&numbers)));
        if let (true, Record::EngineSample(sample)) = (believable, &decoded.record) {
            names.extend(sample.metric.as_deref().map(str::to_owned));
        }
    }
    Ok(())
}

/// Whether the line's metric is certainly one of `names`. A label can have the key `metric` too, so the key must
/// stand in front of the labels; inside a text its quotes would be escaped.
fn is_known(line: &[u8], names: &Names) -> bool {
    let name = || {
        let at = METRIC.find(line)?;
        let (before, behind) = line.split_at_checked(at)?;
        if LABELS.find(before).is_some() {
            return None;
        }
        let text = behind.get(METRIC.needle().len()..)?.trim_ascii_start().strip_prefix(b"\"")?;
        let name = text.get(..memchr::memchr(b'"', text)?)?;
        // A name with an escape is another one, and is never among them as it is written.
        str::from_utf8(name).ok().filter(|name| !name.contains('\\'))
    };
    name().is_some_and(|name| names.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_metric_in_front_of_the_labels_is_known_at_a_glance() {
        let names = Names::from(["m".to_owned()]);
        for (line, known) in [
            (r#"{"ts":1,"addr":"a","metric":"m","labels":{},"value":1}"#, true),
            (r#"{"ts": 1, "addr": "a", "metric": "m", "labels": {}, "value": 1}"#, true),
            (r#"{"ts":1,"addr":"a","metric":"n","labels":{"metric":"m"},"value":1}"#, false),
            (r#"{"ts":1,"addr":"a","labels":{"metric":"m"},"metric":"n","value":1}"#, false),
            (r#"{"ts":1,"addr":"\"metric\":\"m","metric":"n","labels":{},"value":1}"#, false),
            (r#"{"ts":1,"addr":"a","metric":"m\u0041","labels":{},"value":1}"#, false),
            ("", false),
        ] {
            assert_eq!(is_known(line.as_bytes(), &names), known, "{line}");
        }
    }
}
