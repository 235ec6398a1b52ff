//! Rows as Apache Parquet files, without Arrow.
//!
//! [`Writer`] turns cells into row groups. Layout of lists and the meaning of the levels: Parquet's
//! LogicalTypes.md, "Lists".

mod columns;
mod schema;
mod write;

pub use write::{WriteError, Writer, WriterOptions};
