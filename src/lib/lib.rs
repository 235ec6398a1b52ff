//! Library behind the miles tools: reading what a miles run writes, exactly and fast.

pub mod advise;
pub mod cli;
pub mod collect;
pub mod demo;
pub mod gpu;
pub mod output;
pub mod pt;
pub mod record;
pub mod rollout;
pub mod row;
pub mod serve;
pub mod sglang;
pub mod telemetry;
pub mod timeline;
