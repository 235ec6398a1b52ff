//! Questions about a run's telemetry.
//!
//! A *lane* is one GPU of one node. [`Lanes`] are the lanes of a run, a [`Selector`] names some of
//! them, and a [`LaneFilter`] tells which records touch those. The questions take a store, a [`Selection`] of
//! lanes and a window, and answer structures that serialize to what the HTTP API answers.

mod about;
mod arguments;
pub mod bubbles;
mod buckets;
pub mod engines;
mod error;
mod events;
mod filter;
mod fleet;
mod gpu;
mod heatmap;
mod json;
mod lanes;
mod lay;
mod lifecycle;
pub mod metrics;
mod numbered;
mod outliers;
mod paint;
mod phases;
mod points;
mod processes;
mod readings;
mod selection;
mod selector;
mod spans;
mod topology;
pub mod trajectories;

pub use about::{About, wandb_url};
pub use arguments::{MAX_WINDOW_S, X_BUCKETS, window, window_of_any_length};
pub use buckets::Buckets;
pub use error::TimelineError;
pub use filter::LaneFilter;
pub use fleet::{Band, Composition, FLEET_X_BUCKETS, Fleet, fleet};
pub use gpu::{GpuSeries, LaneSeries, MAX_POINTS, gpu};
pub use heatmap::{
    HEATMAP_X_BUCKETS, Heatmap, HeatmapHeader, HeatmapRows, LaneMetric, LaneRow, SampleRow, Scale, heatmap,
};
pub use lanes::{Lane, LaneIndex, Lanes};
pub use lifecycle::lifecycle;
pub use outliers::{Criterion, Outlier, Outliers, TOP_K, outliers};
pub use phases::{LanePhases, phases};
pub use points::Points;
pub use processes::{Processes, processes};
pub use selection::Selection;
pub use selector::{Selector, SelectorError};
pub use spans::{Attempt, SpanKind};
pub use topology::{Topology, TopologyWindow, topology};

use selection::Rows;
