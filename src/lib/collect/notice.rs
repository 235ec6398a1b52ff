//! What a collector has to say, and how often it may say it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::buffer::{STREAMS, Tally};
use crate::record::Stream;
use crate::telemetry::counted;

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Said always: records may be lost.
    Error,
    /// Said unless the tool is to be quiet.
    Warning,
    /// What was done at the start and at the end.
    Note,
    /// Said when asked for detail.
    Detail,
}

/// Something that happened.
#[derive(Debug)]
pub enum Notice {
    /// Producers can connect here.
    Listening(String),
    /// The latest values are here.
    MetricsAt(String),
    /// A collector that was killed had this run before.
    Resumed,
    /// Lines that were no records.
    Bad {
        /// Which producer sent the last of them, and which line of its was it.
        source: String,
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
        /// Lines before it that were not told of.
        unsaid: u64,
    },
    /// Keys that a stream cannot hold.
    LeftOut {
        /// Which producer.
        source: String,
        /// Line, from 1.
        line: u64,
        /// Of which stream.
        stream: Stream,
        /// Which.
        keys: Vec<String>,
        /// Records before it that were not told of.
        unsaid: u64,
    },
    /// Records that had to go because the disk does not take them.
    Dropped {
        /// Of which stream.
        stream: Stream,
        /// Since the last time.
        count: u64,
        /// In all.
        total: u64,
    },
    /// A file could not be written.
    Failed {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
        /// Records that wait, of all streams.
        waiting: u64,
        /// Records that were dropped, of all streams.
        dropped: u64,
    },
    /// Everything that waited is written again after a failure.
    Recovered {
        /// How many records that was.
        records: u64,
    },
    /// A flush ended: these records of each stream were written by it, and these in all.
    Flushed {
        /// By this flush.
        new: [u64; STREAMS],
        /// Since the start.
        total: Box<[Tally; STREAMS]>,
    },
    /// A producer came or went.
    Producer {
        /// Who.
        name: String,
        /// Whether it came.
        came: bool,
        /// How many there are now.
        producers: usize,
    },
    /// A producer cannot be read.
    Unreadable {
        /// Who.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// A producer could not be let in.
    NotAccepted {
        /// Where.
        address: String,
        /// What the system said.
        error: io::Error,
    },
    /// What lay under `dashboard` could not be used.
    Unusable {
        /// Which file.
        what: String,
        /// What was done without it.
        instead: &'static str,
    },
}

impl Notice {
    /// How much it matters.
    #[must_use]
    pub const fn weight(&self) -> Weight {
        match self {
            Self::Failed { .. } | Self::Dropped { .. } => Weight::Error,
            Self::Bad { .. }
            | Self::LeftOut { .. }
            | Self::Unreadable { .. }
            | Self::NotAccepted { .. }
            | Self::Unusable { .. } => Weight::Warning,
            Self::Listening(_) | Self::MetricsAt(_) | Self::Resumed | Self::Recovered { .. } => Weight::Note,
            Self::Flushed { .. } | Self::Producer { .. } => Weight::Detail,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening(address) => write!(f, "listening on {address}"),
            Self::MetricsAt(address) => write!(f, "metrics at {address}"),
            Self::Resumed => f.write_str("going on where a collector was killed"),
            Self::Bad { source, line, reason, unsaid } => {
                write!(f, "{source} line {line}: {reason}; the line is left out")?;
                unsaid_too(f, *unsaid, "bad lines")
            }
            Self::LeftOut { source, line, stream, keys, unsaid } => {
                let keys = keys.join(", ");
                write!(f, "{source} line {line}: {stream} cannot hold {keys}; left out of the record")?;
                unsaid_too(f, *unsaid, "such records")
            }
            Self::Dropped { stream, count, total } => {
                let count = counted(*count, "record");
                write!(f, "{stream}: the oldest that waited are dropped: {count} ({total} in all)")?;
                f.write_str("; hint: the disk takes less than comes; see --max-buffered")
            }
            Self::Failed { path, error, waiting, dropped } => {
                let waiting = counted(*waiting, "record");
                write!(f, "{}: {error}; waiting: {waiting}, dropped: {dropped}", path.display())?;
                f.write_str("; hint: it is tried again at each flush")
            }
            Self::Recovered { records } => {
                write!(f, "the disk works again: {} written", counted(*records, "record"))
            }
            Self::Flushed { new, total } => {
                let all: u64 = new.iter().sum();
                let written: u64 = total.iter().map(|tally| tally.written).sum();
                write!(f, "flushed {} ({written} in all)", counted(all, "record"))?;
                let mut separator = ":";
                for ((stream, new), total) in Stream::ALL.iter().zip(new).zip(total.iter()) {
                    if *new > 0 {
                        write!(f, "{separator} {stream} {new} ({})", total.written)?;
                        separator = ",";
                    }
                }
                Ok(())
            }
            Self::Producer { name, came, producers } => {
                let what = if *came { "came" } else { "went" };
                write!(f, "{name} {what} ({})", counted(*producers as u64, "producer"))
            }
            Self::Unreadable { name, error } => write!(f, "{name}: {error}; not read any more"),
            Self::NotAccepted { address, error } => {
                write!(f, "{address}: a producer cannot be let in: {error}; hint: see ulimit -n")
            }
            Self::Unusable { what, instead } => write!(f, "{what}; {instead}"),
        }
    }
}

fn unsaid_too(f: &mut fmt::Formatter<'_>, unsaid: u64, what: &str) -> fmt::Result {
    match unsaid {
        0 => Ok(()),
        _ => write!(f, " (and {unsaid} more {what} before it)"),
    }
}

/// Notices of one kind that are told of in a row before it gets quiet.
const BURST: u32 = 5;

/// One more is let through each time that this has passed.
const REST: Duration = Duration::from_secs(5);

/// Lets a few notices through, and then one in a while.
#[derive(Debug)]
pub(super) struct Limiter {
    left: u32,
    last: Option<Instant>,
    unsaid: u64,
}

impl Limiter {
    pub(super) const fn new() -> Self {
        Self { left: BURST, last: None, unsaid: 0 }
    }

    /// Whether one may be said now, which stands for `count`; if so, how many before it were not.
    pub(super) fn ask(&mut self, now: Instant, count: u64) -> Option<u64> {
        let rested = self.last.is_none_or(|last| now.duration_since(last) >= REST);
        if rested && self.unsaid == 0 {
            self.left = BURST;
        }
        if self.left == 0 && !rested {
            self.unsaid += count;
            return None;
        }
        self.left = self.left.saturating_sub(1);
        self.last = Some(now);
        Some(std::mem::take(&mut self.unsaid))
    }
}

/// Notices of one kind that are told of in a second when each is wanted: more than anybody reads, and half of
/// what may wait for stderr.
const EACH: u32 = 500;

/// Lets each notice through, up to a number a second.
#[derive(Debug)]
pub(super) struct Each {
    since: Option<Instant>,
    said: u32,
    unsaid: u64,
}

impl Each {
    pub(super) const fn new() -> Self {
        Self { since: None, said: 0, unsaid: 0 }
    }

    /// Whether one may be said now; if so, how many before it were not.
    pub(super) fn ask(&mut self, now: Instant) -> Option<u64> {
        if self.since.is_none_or(|since| now.duration_since(since) >= Duration::from_secs(1)) {
            (self.since, self.said) = (Some(now), 0);
        }
        if self.said >= EACH {
            self.unsaid += 1;
            return None;
        }
        self.said += 1;
        Some(std::mem::take(&mut self.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_said_then_one_in_a_while_with_the_number_of_the_others() {
        let mut limiter = Limiter::new();
        let start = Instant::now();
        let mut ask = |seconds| limiter.ask(start + Duration::from_secs(seconds), 1);
        assert_eq!((0..7).map(|_| ask(0)).filter(Option::is_some).count(), BURST as usize);
        assert_eq!(ask(1), None);
        assert_eq!(ask(6), Some(3));
        assert_eq!(ask(6), None);
        assert_eq!(ask(20), Some(1));
        // After a rest in which nothing was held back it is fresh.
        assert_eq!((0..7).map(|_| ask(40)).filter(Option::is_some).count(), BURST as usize);
    }

    #[test]
    fn each_is_said_up_to_a_number_a_second() {
        let mut each = Each::new();
        let start = Instant::now();
        let said = (0..EACH + 3).filter(|_| each.ask(start).is_some()).count();
        assert_eq!(said, EACH as usize);
        assert_eq!(each.ask(start + Duration::from_secs(1)), Some(3));
        assert_eq!(each.ask(start + Duration::from_secs(1)), Some(0));
    }

    #[test]
    fn a_flush_says_what_is_on_disk() {
        let (mut new, mut total) = ([0; STREAMS], [Tally::default(); STREAMS]);
        (new[0], new[3]) = (2, 5);
        (total[0].written, total[3].written) = (10, 20);
        assert_eq!(
            Notice::Flushed { new, total: Box::new(total) }.to_string(),
            "flushed 7 records (30 in all): metrics 2 (10), gpu_util 5 (20)"
        );
    }
}
