//! Where readings of GPUs come from.
//!
//! A [`Source`] loads a vendor's library, a [`Driver`] is that library in use, a [`Device`] is one GPU of it.
//! NVML stands behind the three today ([`NvmlSource`]); another vendor's library would be a second
//! implementation and nothing else would change. [`Sampler`] reads devices at an even pace and makes records.
//!
//! A call into a driver can hang for ever when a card is broken, so each GPU has a thread of its own, which
//! nobody waits for: a card that hangs costs its own records and nothing else.
//!
//! `gpu` in a record is the index in the driver's order, which for NVML is that of PCI bus addresses.
//! `CUDA_VISIBLE_DEVICES` renumbers GPUs for CUDA alone; NVML knows nothing of it, so these records always
//! number the physical cards of the host. What stays with a card over a restart of the driver is its UUID.

mod cards;
mod encode;
mod node;
mod nvml;
mod pipe;
mod sampler;
mod schedule;
mod session;
mod watch;

use std::sync::Arc;

use serde_json::value::RawValue;

pub use node::node_address;
pub use nvml::NvmlSource;
pub use sampler::{Control, Ended, Finished, Note, SampleError, Sampler, Settings};

use crate::record::GpuHealth;

/// What a failed call means for those that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// There is no library, or it is not the vendor's.
    NoLibrary,
    /// The library is there, its kernel module is not.
    NoDriver,
    /// We may not ask.
    Denied,
    /// The whole driver is gone, or another version than the library: open it anew.
    Driver,
    /// This GPU is gone: fell off the bus, wants a reset.
    Gone,
    /// Anything else; the next call can succeed.
    Other,
}

/// A call into the driver that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GpuError {
    /// What it means.
    pub trouble: Trouble,
    /// What the driver said.
    pub message: String,
}

/// How to get at a driver.
pub trait Source: Send + Sync {
    /// Loads and initialises it. With `fresh` the library is read from disk again, which a new version of the
    /// driver needs; without it the library that is in memory goes on, which a broken GPU among sound ones
    /// needs: the file on disk may be newer than the kernel module that still works.
    ///
    /// # Errors
    /// There is no driver, or it does not start.
    fn open(&self, fresh: bool) -> Result<Arc<dyn Driver>, GpuError>;
}

/// A driver in use. Calls from several threads at once are fine, and each can block for ever.
pub trait Driver: Send + Sync {
    /// Name and version, for people.
    fn about(&self) -> String;

    /// How many GPUs it knows; their indices are 0 to one less.
    ///
    /// # Errors
    /// The driver does not say.
    fn count(&self) -> Result<u32, GpuError>;

    /// Opens the GPU at `index` and lends it to `work`, on the calling thread, until `work` returns.
    ///
    /// # Errors
    /// The GPU cannot be opened; `work` was not called then.
    fn serve(&self, index: u32, work: &mut dyn FnMut(&mut dyn Device)) -> Result<(), GpuError>;
}

/// One GPU.
pub trait Device {
    /// Which card this is.
    ///
    /// # Errors
    /// The driver does not say.
    fn identity(&mut self) -> Result<Identity, GpuError>;

    /// Reads it; with `health` all that the device knows. What it lacks is missing from the reading.
    ///
    /// # Errors
    /// The GPU or the driver is gone.
    fn read(&mut self, health: bool) -> Result<Reading, GpuError>;

    /// The processes that hold memory on it for computing.
    ///
    /// # Errors
    /// The driver does not say.
    fn processes(&mut self) -> Result<Vec<Process>, GpuError>;
}

/// Which card a GPU is, wherever it is plugged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The driver's name for it, unique in the world.
    pub uuid: String,
    /// Product name.
    pub model: Option<String>,
}

/// What one GPU said at one time.
#[derive(Debug, Default)]
pub struct Reading {
    /// Utilisation, percent.
    pub util: Option<i64>,
    /// Memory in use, whole MiB, what the driver keeps for itself included.
    pub mem_mb: Option<i64>,
    /// Power, whole W.
    pub power_w: Option<i64>,
    /// Why one of the three above is missing.
    pub lacks: Vec<Lack>,
    /// The rest, if it was asked for; who and when is for others to fill in.
    pub health: Option<Box<GpuHealth<'static>>>,
    /// [`GpuHealth::throttle_reasons`], which only borrows.
    pub throttle_reasons: Option<Box<RawValue>>,
}

/// A value that a device does not give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// Of which value.
    pub what: &'static str,
    /// What the driver says.
    pub why: String,
}

/// A process on a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number, as the driver has it: in a container possibly the host's.
    pub pid: i64,
    /// What the driver calls it.
    pub name: Option<String>,
    /// Memory that it holds, whole MiB.
    pub mem_mb: Option<i64>,
}
