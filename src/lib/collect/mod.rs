//! Records of many producers to a run's streams.
//!
//! ```text
//! stdin ─┐          ingest                 buffer              writer
//! tcp ───┼ sources ─ split, line ─────────▶ a bounded queue ──▶ append ──▶ dashboard/STREAM/HOUR.jsonl
//! unix ──┘            shape | check         a stream            catalog, meta
//! ```
//!
//! Two threads do the work, so that neither waits for what the other waits for. One reads all producers
//! (`sources`), checks each line at a look (`shape`) or patiently (`check`), and puts it into the queue of its
//! stream (`buffer`). The other (`writer`) appends what waits to the files (`append`) and keeps the two
//! documents beside them. A lock (`lock`) sees to it that one collector writes a run.
//!
//! What holds: a line on disk is one that the format allows, with the producer's own digits. A record is
//! written once or, when its stream's queue is full because the disk does not take it, dropped and counted;
//! never twice. Memory is bounded whatever comes.

mod append;
mod buffer;
mod catalog;
mod check;
mod chunk;
mod disk;
mod http;
mod ingest;
mod latest;
mod line;
mod listen;
mod lock;
mod meta;
mod notice;
mod prometheus;
mod run;
mod shape;
mod sources;
mod split;
mod writer;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

pub use buffer::Tally;
pub use check::Wrong;
pub use line::{Bad, MetaRecord};
pub use listen::{Address, NoAddress};
pub use lock::LockError;
pub use meta::Written;
pub use notice::{Notice, Weight};
pub use run::{CollectError, Collector, Settings, Stop, Summary};

/// Where notices go. It is called from several threads and must not wait.
pub type Tell = Arc<dyn Fn(Notice) + Send + Sync>;

/// Unix seconds.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
