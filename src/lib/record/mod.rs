//! The telemetry records: the one definition of what a line of a stream holds.
//!
//! On disk a line is one JSON object and the file says which stream it belongs to. This module
//! knows names, fields, types and the time of each record, and how to read one line; it knows
//! nothing of files. Reading is typed and borrowed for the line that looks as it should, and
//! patient with the rest: see [`decode()`]. [`encode()`] writes the same definition.

mod decode;
mod encode;
mod field;
mod health;
mod json;
mod stream;
mod types;

pub use decode::{Damaged, Decoded, decode};
pub use encode::{encode, encode_piped};
pub use field::{Field, FieldKind, Value};
pub use health::GpuHealth;
pub use json::{Text, entries, strict};
pub use stream::{Layout, Stream, UnknownStream};
pub use types::{
    DataBuffer, Engine, EngineSample, GpuProcess, GpuUtil, Metrics, Phase, Record, Topology, TrajectoryEvent,
};
