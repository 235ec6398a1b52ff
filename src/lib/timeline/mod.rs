//! Questions about a run's telemetry.
//!
//! A *lane* is one GPU of one node. [`Lanes`] are the lanes of a run, a [`Selector`] names some of
//! them, and a [`LaneFilter`] tells which records touch those.

mod filter;
mod lanes;
mod selector;

pub use filter::LaneFilter;
pub use lanes::{Lane, Lanes};
pub use selector::{Selector, SelectorError};
