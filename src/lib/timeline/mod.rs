//! Questions about a run's telemetry.
//!
//! A *lane* is one GPU of one node. [`Lanes`] are the lanes of a run, a [`Selector`] names some of
//! them, and a [`LaneFilter`] tells which records touch those.

mod about;
pub mod bubbles;
pub mod engines;
mod error;
mod filter;
mod lanes;
pub mod lifecycle;
pub mod metrics;
mod points;
mod selector;
mod spans;
pub mod trajectories;
pub mod wire;

pub use about::{About, wandb_url};
pub use error::TimelineError;
pub use filter::LaneFilter;
pub use lanes::{Lane, Lanes};
pub use points::Points;
pub use selector::{Selector, SelectorError};
pub use spans::{Attempt, SpanKind};
