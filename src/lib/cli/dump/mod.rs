//! `miles-dump`: what a run's dumps hold.

pub mod metrics;
pub mod stream;
#[cfg(test)]
mod testing;
