//! Rows as Apache Parquet files, without Arrow.
//!
//! [`Writer`] turns cells into row groups; [`Reader`] reads files of any writer, all rows or one cell.
//! Layout of lists and the meaning of the levels: Parquet's LogicalTypes.md, "Lists".

mod columns;
mod decode;
mod error;
mod read;
mod schema;
mod shape;
mod source;
mod write;

pub use error::{Problem, ReadError};
pub use read::{Field, Place, Reader, Rows};
pub use write::{WriteError, Writer, WriterOptions};
