//! What to scrape, and through whom.

use std::time::Duration;

use super::address::Address;
use super::names::Selection;
use super::topology::Placement;

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Each engine when addresses are known, else the router.
    Auto,
    /// The router; each engine while it fails.
    Router,
    /// Each engine.
    Direct,
}

/// What to scrape.
#[derive(Debug)]
pub struct Settings {
    /// Who is asked.
    pub mode: Mode,
    /// From one round to the next.
    pub interval: Duration,
    /// Which metrics.
    pub selection: Selection,
    /// Engines by address.
    pub engines: Vec<Address>,
    /// The router.
    pub router: Option<Address>,
    /// Ask the router for its workers, and tell of them in `topology`.
    pub discover: bool,
    /// The GPUs of engines.
    pub placements: Vec<Placement>,
}
