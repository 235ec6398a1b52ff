//! Records of the hourly streams as columns: a block holds the rows of one stretch of a file.
//!
//! A block is immutable and stands alone: it has its own table of names, so blocks are made in parallel
//! and dropped one by one. A row takes at most 24 bytes. Text that repeats (node, metric, labels, phase)
//! is held once a block; what a row is about is a small number, or where the row lies.

mod bytes;
mod engine;
mod gpu;
mod group;
mod phase;
mod process;
mod trajectory;

pub(super) use bytes::Bytes;
pub use engine::{EngineBlock, EngineSlice};
pub use gpu::{GpuBlock, GpuLane, MISSING};
pub(in crate::telemetry) use phase::PhaseKey;
pub use phase::{PhaseBlock, PhaseRow};
pub use process::{ProcessBlock, ProcessRow};
pub use trajectory::{EventKind, TrajectoryBlock, TrajectoryRow};

use super::shape::{Holes, Numbers};
use crate::record::{Record, Stream};

/// The columns of one stream.
pub(super) trait Columns: Holes + Send + Sync + Sized + 'static {
    /// Whose columns.
    const STREAM: Stream;
    /// What makes them.
    type Builder: Build<Self>;

    /// The time by which a row belongs to its file, Unix seconds.
    fn time(&[first, ..]: &Numbers) -> f64 {
        f64::from_bits(first)
    }

    /// Rows held.
    fn rows(&self) -> usize;
    /// Memory held, bytes.
    fn bytes(&self) -> usize;
    /// Oldest and newest time of the rows, Unix seconds.
    fn span(&self) -> Option<(f64, f64)>;
    /// Appends the block as bytes.
    fn put(&self, out: &mut Vec<u8>);
    /// The block that [`Columns::put`] wrote; `None` for anything else.
    fn take(bytes: &mut Bytes<'_>) -> Option<Self>;
}

/// Makes columns row by row.
pub(super) trait Build<C>: Default + Send {
    /// What the record is about, as a number of this builder, and its numbers.
    ///
    /// # Errors
    /// What the record lacks to be a row.
    fn read(&mut self, record: &Record<'_>) -> Result<(u32, Numbers), Lacks>;
    /// Makes room for this many more rows.
    fn reserve(&mut self, rows: usize);
    /// Adds a row about `subject`, a number that [`Build::read`] gave.
    fn push(&mut self, subject: u32, numbers: &Numbers);
    /// Adds the rows of a finished block, in its order.
    fn absorb(&mut self, block: &C);
    /// The columns of all rows.
    fn finish(self) -> C;
}

/// Why a record is no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a record without {0}")]
pub(super) struct Lacks(pub &'static str);

/// `value` as it is kept in a column of 32 bits; `None` and what does not fit is [`MISSING`].
fn narrow(value: i64) -> i32 {
    i32::try_from(value).unwrap_or(MISSING)
}
