//! A run's telemetry streams as they lie on disk, under `dashboard/` of the run directory.
//!
//! There are two ways to read them. [`scan`] hands out every record of a stream in one pass, for
//! commands that end. A [`Store`] keeps what was read as columns, reads an hour when it is asked for,
//! and follows the files while they grow, for a server that stays.
//!
//! Which files a stream has is [`partitions`], its newest time [`newest`], a stretch of time a
//! [`Window`], and the two documents beside the streams are [`Meta`] and [`LaneCatalog`]. Every stream
//! is append-only and a line is complete when its newline is there, so reading needs no lock: a reader
//! may miss the newest records, but never sees half of one.

use std::io;
use std::path::{Path, PathBuf};

mod column;
mod documents;
mod flat;
mod hourly;
mod lines;
mod load;
mod names;
mod number;
mod partition;
mod phases;
mod scan;
mod shape;
mod shelf;
mod store;
mod tail;
mod window;

pub use column::{
    EngineBlock, EngineSlice, EventKind, GpuBlock, GpuLane, MISSING, PhaseBlock, PhaseRow, ProcessBlock,
    ProcessRow, TrajectoryBlock, TrajectoryRow,
};
pub use documents::{CatalogLane, LaneCatalog, Meta};
pub use flat::{MetricValue, MetricsLog, MetricsRow, Point, Snapshot};
pub use lines::{Line, Lines};
pub use partition::{Partition, partitions};
pub use phases::Phases;
pub use scan::{Damage, DamagedFile, Found, counted, newest, scan};
pub use store::{Changes, Store, StoreOptions};
pub use window::{TimeArg, TimeError, Window};

/// Folder of the telemetry inside a run directory.
pub const DASHBOARD: &str = "dashboard";

/// Why telemetry cannot be read. Damaged lines are no error, they are counted in [`Damage`].
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// A file or folder cannot be opened or listed.
    #[error("{}: {source}", shown(path))]
    Open {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file that was open cannot be read on.
    #[error("{}: cannot read on at byte {offset}: {source}", shown(path))]
    Read {
        /// Which.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// `meta.json` or `lane_catalog.json` is not what it should be.
    #[error("{}: {reason}; hint: the job rewrites this file, try again or move it away", shown(path))]
    Document {
        /// Which.
        path: PathBuf,
        /// What is wrong and where.
        reason: String,
    },
}

/// The path as a person would write it: without the `./` that joining to `.` leaves.
#[must_use]
pub fn shown(path: &Path) -> std::path::Display<'_> {
    path.strip_prefix(".").unwrap_or(path).display()
}
