//! A run's dumps: which steps there are, and each step's rollout and train side joined.
//!
//! | room | job |
//! | --- | --- |
//! | [`Run`] | finds steps and their files |
//! | [`Batch`] | the rollout file: one [`Sample`] an entry |
//! | [`Train`] | the shards of a step: which ranks hold which row, and a row's per-token columns |
//! | `age` | which files are still being written |
//! | `place` | where a context-parallel slice belongs |
//! | [`summary`], [`groups`], [`steps`] | one row a sample, a group, a step |
//! | [`tokens`], [`conversation`] | what one sample holds |
//! | [`object`] | one sample's tokens as the API answers them |
//! | [`cache`], [`kept`] | summaries on disk, and reading through them |
//!
//! Definitions are those of the job's own dashboard; the recorded answers of the conformance tests
//! fix what its text leaves open.

mod age;
mod batch;
pub mod cache;
pub mod conversation;
mod error;
pub mod groups;
pub mod kept;
mod list;
mod mirror;
pub mod object;
mod place;
mod run;
mod series;
mod shard;
mod stats;
pub mod steps;
pub mod summary;
pub mod text;
pub mod tokens;
mod train;

pub use age::judge;
pub use batch::{Batch, Sample};
pub use error::Error;
pub use run::{Double, Run, State, StepFiles, StepId, TrainFile};
pub use series::{Computed, Series};
pub use train::{Train, TrainRow};
