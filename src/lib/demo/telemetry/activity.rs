//! What a lane does at a time, and what its GPU shows of it.

use super::clock::Ms;
use super::cluster::Cluster;
use super::load::{Load, Work};
use super::timeline::{Phase, Span, StepPlan, Timeline};

/// What keeps a GPU busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Before the first step.
    StartUp,
    /// The engine generates.
    Serving,
    /// The engine is being restarted.
    Dead,
    /// The trainer is in a phase of its own.
    Training(Phase),
    /// The trainer computes, slower than the others: it is too hot.
    Straggling,
}

/// What a GPU shows: percent, MiB and W, and how far the values move.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) util: i64,
    pub(super) util_spread: i64,
    pub(super) trainer_mb: i64,
    pub(super) engine_mb: i64,
    pub(super) power_w: i64,
    pub(super) power_spread: i64,
}

/// What the driver keeps for itself.
pub(super) const DRIVER_MB: i64 = 612;
/// A process that has given its memory back, and one that has it.
const TRAINER_ASLEEP_MB: i64 = 2_860;
const TRAINER_MB: i64 = 57_400;
const ENGINE_ASLEEP_MB: i64 = 1_940;
const ENGINE_MB: i64 = 66_300;

impl Activity {
    /// Values of an 80 GB GPU of 700 W. `level` is the engine's load, 0 to 1.
    pub(super) fn reading(self, level: f64) -> Reading {
        let (util, util_spread, power_w, power_spread) = match self {
            Self::StartUp => (3, 6, 110, 20),
            Self::Dead => (0, 1, 84, 6),
            Self::Serving => ((28.0 + 58.0 * level) as i64, 14, (210.0 + 330.0 * level) as i64, 70),
            Self::Straggling => (96, 7, 395, 25),
            Self::Training(phase) => match phase {
                Phase::TrainWait => (0, 3, 96, 14),
                Phase::WakeUp | Phase::Sleep => (14, 24, 150, 40),
                Phase::DataPreprocess => (4, 9, 125, 20),
                Phase::RefLogProbs | Phase::LogProbs => (91, 13, 540, 60),
                Phase::ActorTrain => (95, 9, 640, 50),
                Phase::SaveModel => (2, 7, 120, 15),
                Phase::UpdateWeights => (38, 40, 260, 60),
            },
        };
        let (trainer_mb, engine_mb) = match self {
            Self::StartUp => (TRAINER_ASLEEP_MB, ENGINE_MB),
            Self::Serving | Self::Training(Phase::TrainWait) => (TRAINER_ASLEEP_MB, ENGINE_MB),
            Self::Dead => (TRAINER_ASLEEP_MB, 0),
            Self::Training(Phase::UpdateWeights | Phase::WakeUp | Phase::Sleep) => (31_500, 35_200),
            Self::Straggling | Self::Training(_) => (TRAINER_MB, ENGINE_ASLEEP_MB),
        };
        Reading { util, util_spread, trainer_mb, engine_mb, power_w, power_spread }
    }
}

/// All lanes in one step, for times that only go on.
#[derive(Debug)]
pub(super) struct Lanes<'t> {
    timeline: &'t Timeline,
    cluster: &'t Cluster,
    work: &'t Work,
    step: StepPlan,
    /// Phases of each lane's rank, and which of them is the current one.
    spans: Vec<(Vec<Span>, usize)>,
}

impl<'t> Lanes<'t> {
    pub(super) fn new(timeline: &'t Timeline, cluster: &'t Cluster, work: &'t Work, rid: u32) -> Self {
        let step = timeline.step(rid);
        let spans = (0..cluster.lanes()).map(|lane| (timeline.spans(&step, lane as u32), 0)).collect();
        Self { timeline, cluster, work, step, spans }
    }

    /// Goes to the step that runs at `at`.
    pub(super) fn go_to(&mut self, at: Ms) {
        let rid = self.timeline.step_at(at);
        if rid != self.step.rid {
            *self = Self::new(self.timeline, self.cluster, self.work, rid);
        }
    }

    /// The engines' load.
    pub(super) fn load(&self, at: Ms) -> Load {
        self.work.at(&self.step, at)
    }

    pub(super) fn activity(&mut self, lane: usize, load: &Load, at: Ms) -> Activity {
        if at < self.step.start {
            return Activity::StartUp;
        }
        if load.level > 0.0 {
            let restarts = self.cluster.engine_of(lane) + 1 == self.cluster.engines.len();
            return match restarts && self.timeline.restart.gap.contains(&at) {
                true => Activity::Dead,
                false => Activity::Serving,
            };
        }
        let (spans, current) = &mut self.spans[lane];
        while *current + 1 < spans.len() && spans[*current].end <= at {
            *current += 1;
        }
        match spans[*current].phase {
            Phase::ActorTrain if self.step.straggles && lane == self.timeline.straggler as usize => {
                Activity::Straggling
            }
            // Between two phases nothing runs.
            _ if at < spans[*current].start || spans[*current].end <= at => {
                Activity::Training(Phase::TrainWait)
            }
            phase => Activity::Training(phase),
        }
    }
}
