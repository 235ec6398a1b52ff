//! The record of each stream.
//!
//! One macro states a record once: its fields, their types and their order. From that come the
//! strict reader (serde), the patient reader ([`Record::from_entries`]), the list of fields and
//! the values in order. Every field is an `Option`: what the line lacks is missing, never zero.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::field::{Field, FieldType, Value};
use super::health::GpuHealth;
use super::json::Text;
use super::stream::Stream;

macro_rules! record {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, Deserialize, Serialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name<'a> {
            $($(#[$field_about])* pub $field: Option<$type>,)+
            /// Keys of the line that have no field, and fields with a value of another type, raw.
            #[serde(skip)]
            pub extra: Vec<(Text<'a>, &'a RawValue)>,
        }

        impl<'a> $name<'a> {
            pub(super) const FIELDS: &'static [Field] =
                &[$(Field { name: stringify!($field), kind: <$type as FieldType>::KIND }),+];

            pub(super) fn from_entries(entries: Vec<(Text<'a>, &'a RawValue)>) -> Self {
                let mut record = Self::default();
                for (key, raw) in entries {
                    // Of a repeated key the last one counts, as in Python.
                    let fits = match &*key {
                        $(stringify!($field) => {
                            record.$field = if raw.get() == "null" { None } else { FieldType::read(raw) };
                            record.$field.is_some() || raw.get() == "null"
                        })+
                        _ => false,
                    };
                    if !fits {
                        record.extra.push((key, raw));
                    }
                }
                record
            }

            pub(super) fn values<'s>(&'s self, out: &mut impl FnMut(Value<'s>)) {
                $(out(self.$field.as_ref().map_or(Value::Missing, FieldType::value));)+
            }
        }
    };
}

pub(super) use record;

record! {
    /// One logging call of the training job.
    Metrics {
        /// When, Unix seconds.
        ts: f64,
        /// Which counter `step` belongs to, such as `rollout/step`.
        #[serde(borrow)]
        step_key: Text<'a>,
        /// The step.
        step: i64,
        /// Object of metric name to number, bool or text; [`super::entries`] opens it.
        #[serde(borrow)]
        metrics: &'a RawValue,
    }
}

record! {
    /// A phase of one rank, or its open marker.
    Phase {
        /// Name of the phase, such as `actor_train`.
        #[serde(borrow)]
        name: Text<'a>,
        /// Start, Unix seconds.
        t0: f64,
        /// End, Unix seconds; -1.0 in an open marker, written when the phase starts.
        t1: f64,
        /// Host.
        #[serde(borrow)]
        node: Text<'a>,
        /// The rank's GPUs on `node`; empty for the rollout manager.
        gpus: Vec<i32>,
        /// Rank; -1 for the rollout manager.
        rank: i64,
        /// `train` or `rollout_manager`.
        #[serde(borrow)]
        role: Text<'a>,
    }
}

record! {
    /// Snapshot of the engines that serve from `ts` on.
    Topology {
        /// When, Unix seconds.
        ts: f64,
        /// List of engines; [`Topology::engines`] opens it.
        #[serde(borrow)]
        engines: &'a RawValue,
    }
}

record! {
    /// One reading of one GPU.
    GpuUtil {
        /// When, Unix seconds.
        ts: f64,
        /// Host.
        #[serde(borrow)]
        node: Text<'a>,
        /// Index of the GPU on its host.
        gpu: i64,
        /// Utilisation, percent.
        util: i64,
        /// Memory in use, MiB.
        mem_mb: i64,
        /// Power, W.
        power_w: i64,
    }
}

record! {
    /// One process that holds memory on one GPU.
    GpuProcess {
        /// When, Unix seconds.
        ts: f64,
        /// Host.
        #[serde(borrow)]
        node: Text<'a>,
        /// Index of the GPU on its host.
        gpu: i64,
        /// Process id as the driver reports it.
        pid: i64,
        /// Name of the process.
        #[serde(borrow)]
        name: Text<'a>,
        /// Memory held, MiB.
        mem_mb: i64,
    }
}

record! {
    /// One value of one metric of one engine.
    EngineSample {
        /// When, Unix seconds; equal for everything of one scrape.
        ts: f64,
        /// Address of the engine.
        #[serde(borrow)]
        addr: Text<'a>,
        /// Name of the metric, `sglang_...`.
        #[serde(borrow)]
        metric: Text<'a>,
        /// Object of label to text.
        #[serde(borrow)]
        labels: &'a RawValue,
        /// The value.
        value: f64,
    }
}

record! {
    /// One event in the life of a sample.
    TrajectoryEvent {
        /// When, Unix seconds.
        ts: f64,
        /// `attempt_start`, `gen_start`, `gen_end`, `tool_start`, `tool_end` or `attempt_end`.
        #[serde(borrow)]
        kind: Text<'a>,
        /// `Sample.index`.
        sample_index: i64,
        /// Group, -1 for none.
        group_index: i64,
        /// Turn from 1, -1 for none.
        turn: i64,
        /// Weight version of the engine, empty if unknown.
        #[serde(borrow)]
        weight_version: Text<'a>,
        /// Anything else worth knowing.
        #[serde(borrow)]
        detail: Text<'a>,
    }
}

record! {
    /// Length of the queue of samples.
    DataBuffer {
        /// When, Unix seconds.
        ts: f64,
        /// Samples in the queue.
        length: i64,
    }
}

impl Phase<'_> {
    /// Whether this is the marker of a phase that has started, not the phase itself.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.t1 == Some(-1.0)
    }
}

impl Topology<'_> {
    /// The engines of the snapshot; none when the list is missing or not one of engines.
    #[must_use]
    pub fn engines(&self) -> Vec<Engine> {
        self.engines.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }
}

/// One engine of a topology snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Engine {
    /// Address, as in [`EngineSample::addr`].
    pub addr: String,
    /// `regular`, `prefill`, `decode`, `external` ...
    pub worker_type: Option<String>,
    /// Rank of the engine, -1 for an external one.
    pub engine_rank: Option<i64>,
    /// Host and index of each GPU; empty for an external engine.
    #[serde(default)]
    pub gpus: Vec<(String, i64)>,
    /// UUID of each GPU where known.
    #[serde(default)]
    pub gpu_uuids: Vec<Option<String>>,
}

/// A record of any stream.
#[derive(Debug, Clone)]
pub enum Record<'a> {
    /// Of [`Stream::Metrics`].
    Metrics(Metrics<'a>),
    /// Of [`Stream::Phases`].
    Phase(Phase<'a>),
    /// Of [`Stream::Topology`].
    Topology(Topology<'a>),
    /// Of [`Stream::GpuUtil`].
    GpuUtil(GpuUtil<'a>),
    /// Of [`Stream::GpuProcesses`].
    GpuProcess(GpuProcess<'a>),
    /// Of [`Stream::EngineSeries`].
    EngineSample(EngineSample<'a>),
    /// Of [`Stream::Trajectories`].
    TrajectoryEvent(TrajectoryEvent<'a>),
    /// Of [`Stream::DataBuffer`].
    DataBuffer(DataBuffer<'a>),
    /// Of [`Stream::GpuHealth`]. In a box, or every record would be three times as large.
    GpuHealth(Box<GpuHealth<'a>>),
}

/// Runs `$body` with `$record` bound to the record inside, whichever it is.
macro_rules! each {
    ($any:expr, $record:ident => $body:expr) => {
        match $any {
            Record::Metrics($record) => $body,
            Record::Phase($record) => $body,
            Record::Topology($record) => $body,
            Record::GpuUtil($record) => $body,
            Record::GpuProcess($record) => $body,
            Record::EngineSample($record) => $body,
            Record::TrajectoryEvent($record) => $body,
            Record::DataBuffer($record) => $body,
            Record::GpuHealth($record) => $body,
        }
    };
}

impl<'a> Record<'a> {
    /// The stream that it belongs to.
    #[must_use]
    pub const fn stream(&self) -> Stream {
        match self {
            Self::Metrics(_) => Stream::Metrics,
            Self::Phase(_) => Stream::Phases,
            Self::Topology(_) => Stream::Topology,
            Self::GpuUtil(_) => Stream::GpuUtil,
            Self::GpuProcess(_) => Stream::GpuProcesses,
            Self::EngineSample(_) => Stream::EngineSeries,
            Self::TrajectoryEvent(_) => Stream::Trajectories,
            Self::DataBuffer(_) => Stream::DataBuffer,
            Self::GpuHealth(_) => Stream::GpuHealth,
        }
    }

    /// Its fields as one JSON object, in the order of [`Stream::fields`]; missing ones are null.
    pub(super) fn write_json(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        each!(self, record => serde_json::to_writer(out, record))
    }

    /// Reads a line that has the fields of the format and no others.
    pub(super) fn from_strict(stream: Stream, text: &'a str) -> serde_json::Result<Self> {
        Ok(match stream {
            Stream::Metrics => Self::Metrics(serde_json::from_str(text)?),
            Stream::Phases => Self::Phase(serde_json::from_str(text)?),
            Stream::Topology => Self::Topology(serde_json::from_str(text)?),
            Stream::GpuUtil => Self::GpuUtil(serde_json::from_str(text)?),
            Stream::GpuProcesses => Self::GpuProcess(serde_json::from_str(text)?),
            Stream::EngineSeries => Self::EngineSample(serde_json::from_str(text)?),
            Stream::Trajectories => Self::TrajectoryEvent(serde_json::from_str(text)?),
            Stream::DataBuffer => Self::DataBuffer(serde_json::from_str(text)?),
            Stream::GpuHealth => Self::GpuHealth(serde_json::from_str(text)?),
        })
    }

    /// Makes a record of whatever keys an object has.
    pub(super) fn from_entries(stream: Stream, entries: Vec<(Text<'a>, &'a RawValue)>) -> Self {
        match stream {
            Stream::Metrics => Self::Metrics(Metrics::from_entries(entries)),
            Stream::Phases => Self::Phase(Phase::from_entries(entries)),
            Stream::Topology => Self::Topology(Topology::from_entries(entries)),
            Stream::GpuUtil => Self::GpuUtil(GpuUtil::from_entries(entries)),
            Stream::GpuProcesses => Self::GpuProcess(GpuProcess::from_entries(entries)),
            Stream::EngineSeries => Self::EngineSample(EngineSample::from_entries(entries)),
            Stream::Trajectories => Self::TrajectoryEvent(TrajectoryEvent::from_entries(entries)),
            Stream::DataBuffer => Self::DataBuffer(DataBuffer::from_entries(entries)),
            Stream::GpuHealth => Self::GpuHealth(Box::new(GpuHealth::from_entries(entries))),
        }
    }

    /// When, Unix seconds: `ts`; of a phase `t1`, or `t0` while it is open. The hourly file of a
    /// record is the hour of this time.
    #[must_use]
    pub fn time(&self) -> Option<f64> {
        match self {
            Self::Metrics(record) => record.ts,
            Self::Phase(phase) if phase.is_open() => phase.t0,
            Self::Phase(phase) => phase.t1,
            Self::Topology(record) => record.ts,
            Self::GpuUtil(record) => record.ts,
            Self::GpuProcess(record) => record.ts,
            Self::EngineSample(record) => record.ts,
            Self::TrajectoryEvent(record) => record.ts,
            Self::DataBuffer(record) => record.ts,
            Self::GpuHealth(record) => record.ts,
        }
    }

    /// Hands the value of each field to `out`, in the order of [`Stream::fields`].
    pub fn values<'s>(&'s self, mut out: impl FnMut(Value<'s>)) {
        each!(self, record => record.values(&mut out));
    }

    /// Keys of the line that have no field, and fields with a value of another type, raw.
    #[must_use]
    pub fn extra(&self) -> &[(Text<'a>, &'a RawValue)] {
        each!(self, record => &record.extra)
    }
}
