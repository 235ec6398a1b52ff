//! The streams by name: how each lies on disk and what the fields of its records are.

use std::fmt;
use std::str::FromStr;

use super::field::Field;
use super::health::GpuHealth;
use super::types::{
    DataBuffer, EngineSample, GpuProcess, GpuUtil, Metrics, Phase, Topology, TrajectoryEvent,
};

/// A telemetry stream of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Training metrics, one record a logging call.
    Metrics,
    /// What every rank was doing, one record a phase and one when it opens.
    Phases,
    /// Which engines serve on which GPUs, one snapshot a change.
    Topology,
    /// Utilisation, memory and power of every GPU.
    GpuUtil,
    /// Which processes hold memory on which GPU.
    GpuProcesses,
    /// Scraped engine metrics.
    EngineSeries,
    /// Life of every sample: attempts, generation, tool calls.
    Trajectories,
    /// Number of samples waiting to be trained on.
    DataBuffer,
    /// Whatever else every GPU says of itself. Ours: the job neither writes nor reads it.
    GpuHealth,
}

/// How a job writes a stream today. A reader must take both layouts for every stream: old runs are flat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One file, `{stream}.jsonl`.
    Flat,
    /// One file an hour of UTC, `{stream}/{YYYYMMDD_HH}.jsonl`.
    Hourly,
}

impl Stream {
    /// Every stream: those of the job in the order of the format's description, then ours.
    pub const ALL: [Self; 9] = [
        Self::Metrics,
        Self::Phases,
        Self::Topology,
        Self::GpuUtil,
        Self::GpuProcesses,
        Self::EngineSeries,
        Self::Trajectories,
        Self::DataBuffer,
        Self::GpuHealth,
    ];

    /// The streams that a job writes and its own dashboard reads.
    pub const OF_JOB: [Self; 8] = [
        Self::Metrics,
        Self::Phases,
        Self::Topology,
        Self::GpuUtil,
        Self::GpuProcesses,
        Self::EngineSeries,
        Self::Trajectories,
        Self::DataBuffer,
    ];

    /// Name on disk and on a pipe.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Phases => "phases",
            Self::Topology => "topology",
            Self::GpuUtil => "gpu_util",
            Self::GpuProcesses => "gpu_processes",
            Self::EngineSeries => "engine_series",
            Self::Trajectories => "trajectories",
            Self::DataBuffer => "data_buffer",
            Self::GpuHealth => "gpu_health",
        }
    }

    /// How the stream lies on disk today.
    #[must_use]
    pub const fn layout(self) -> Layout {
        match self {
            Self::Metrics | Self::Topology | Self::DataBuffer => Layout::Flat,
            Self::Phases
            | Self::GpuUtil
            | Self::GpuProcesses
            | Self::EngineSeries
            | Self::Trajectories
            | Self::GpuHealth => Layout::Hourly,
        }
    }

    /// Names and types of a record's fields, in the order a writer puts them.
    #[must_use]
    pub const fn fields(self) -> &'static [Field] {
        match self {
            Self::Metrics => Metrics::FIELDS,
            Self::Phases => Phase::FIELDS,
            Self::Topology => Topology::FIELDS,
            Self::GpuUtil => GpuUtil::FIELDS,
            Self::GpuProcesses => GpuProcess::FIELDS,
            Self::EngineSeries => EngineSample::FIELDS,
            Self::Trajectories => TrajectoryEvent::FIELDS,
            Self::DataBuffer => DataBuffer::FIELDS,
            Self::GpuHealth => GpuHealth::FIELDS,
        }
    }

    /// Whether a record says which GPU or which engine it is about, so that lanes can be selected.
    #[must_use]
    pub const fn names_lanes(self) -> bool {
        match self {
            Self::Phases
            | Self::Topology
            | Self::GpuUtil
            | Self::GpuProcesses
            | Self::EngineSeries
            | Self::GpuHealth => true,
            Self::Metrics | Self::Trajectories | Self::DataBuffer => false,
        }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no stream has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown stream {name:?}; hint: one of {}",
    Stream::ALL.map(Stream::name).join(", ")
)]
pub struct UnknownStream {
    /// What was asked for.
    pub name: String,
}

impl FromStr for Stream {
    type Err = UnknownStream;

    /// Takes the names on disk, and `trajectory`, which is what the user manual calls `trajectories`.
    fn from_str(name: &str) -> Result<Self, UnknownStream> {
        if name == "trajectory" {
            return Ok(Self::Trajectories);
        }
        Self::ALL
            .into_iter()
            .find(|stream| stream.name() == name)
            .ok_or_else(|| UnknownStream { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_and_the_manuals_name_is_taken() {
        for stream in Stream::ALL {
            assert_eq!(stream.name().parse(), Ok(stream));
        }
        assert_eq!("trajectory".parse(), Ok(Stream::Trajectories));
        let error = "gpu".parse::<Stream>().unwrap_err().to_string();
        assert!(error.contains("\"gpu\"") && error.contains("gpu_processes"), "{error}");
    }

    #[test]
    fn fields_are_those_of_the_format_in_its_order() {
        let names =
            |stream: Stream| stream.fields().iter().map(|field| field.name).collect::<Vec<_>>().join(" ");
        assert_eq!(names(Stream::Metrics), "ts step_key step metrics");
        assert_eq!(names(Stream::Phases), "name t0 t1 node gpus rank role");
        assert_eq!(names(Stream::Topology), "ts engines");
        assert_eq!(names(Stream::GpuUtil), "ts node gpu util mem_mb power_w");
        assert_eq!(names(Stream::GpuProcesses), "ts node gpu pid name mem_mb");
        assert_eq!(names(Stream::EngineSeries), "ts addr metric labels value");
        assert_eq!(
            names(Stream::Trajectories),
            "ts kind sample_index group_index turn weight_version detail"
        );
        assert_eq!(names(Stream::DataBuffer), "ts length");
        assert!(names(Stream::GpuHealth).starts_with("ts node gpu uuid "));
    }
}
