//! sglang's metrics: fetched, parsed, named as the streams name them.
//!
//! ```text
//! fetch ──text──▶ text ──samples──▶ fold (names) ──values──▶ emit ──lines of engine_series──▶
//! workers ──addresses──▶ topology ──lines of topology──▶
//! ```
//!
//! A [`Scraper`] drives both in rounds, through a router or to each engine; what to print and where lines go
//! is its owner's. [`read`] is the text alone, for who has an answer already.

mod address;
mod advice;
mod ask;
mod emit;
mod engines;
mod fallen;
mod fetch;
mod fold;
mod gap;
mod names;
mod pool;
mod scraper;
mod settings;
pub mod text;
mod topology;
mod voice;
mod workers;

pub use address::{Address, AddressError};
pub use fetch::{Client, ClientError, FetchError};
pub use fold::{Answer, Value, read};
pub use names::{NameError, Selection};
pub use scraper::Scraper;
pub use settings::{Mode, Settings};
pub use topology::{Placement, PlacementError};
pub use voice::Output;
pub use workers::Worker;
