//! When everything happens: steps, what each rank does in them, and the stories.
//!
//! A step is a rollout, after an evaluation in some, and then training. Its parts last so many
//! thousandths of a *unit*, which follows from the length of the run and its number of steps. All of it is
//! computed from the number of the step and the rank, so that any hour can be written on its own and a run that
//! follows the clock can go on for ever.
//!
//! The stories, by step `k` of `n` (see `story.rs` for those of the dumps):
//!
//! | story | where |
//! | --- | --- |
//! | a straggler: one rank computes longer, all others wait for it in `train_wait` | `k` from `n`/4 to 3`n`/4, rank 5/8 of the way |
//! | a saturated KV cache: usage above 0.95, a growing queue, late first tokens | `k` from 3`n`/8 to `n`/2, the first engine |
//! | an engine restart: silence, another port, counters from 0, its attempts aborted and tried again | in the rollout of the dumps' failover step (else the middle one), the last engine |
//! | a save that never ends: one open phase, and everybody idle behind it | the last step, rank 3/8 of the way; 35 minutes of it in runs from 2 hours |

use std::ops::Range;

use super::clock::{MINUTE, Ms, SECOND};
use crate::demo::Settings;
use crate::demo::random::{Purpose, Random};

/// Parts of a step in thousandths of a unit, in the order in which they follow each other.
const EVAL: Ms = 100;
const ROLLOUT: Ms = 520;
const WAKE_UP: Ms = 15;
const PREPROCESS: Ms = 10;
const REF_LOG_PROBS: Ms = 50;
const LOG_PROBS: Ms = 50;
const TRAIN: Ms = 210;
const STRAGGLER_TRAIN: Ms = 300;
const SAVE: Ms = 40;
const UPDATE: Ms = 45;
const STRAGGLER_UPDATE: Ms = 75;
const SLEEP: Ms = 12;
/// See [`Timeline::length`].
const FINER: Ms = 1000;
/// What ranks differ by, and rollouts.
const RANK_JITTER: Ms = 8;
const ROLLOUT_JITTER: Ms = 40;
/// Every so many steps are saved.
const SAVED_EVERY: u32 = 4;
/// From the start of the attempt to the first step, and from the last one to the end of the data.
const START_UP: Ms = 20 * SECOND;
const TAIL: Ms = 20 * SECOND;
/// From this length on the hang at the end is long enough for an alarm, which wants 30 minutes.
const LONG_RUN: Ms = 120 * MINUTE;
const LONG_HANG: Ms = 35 * MINUTE;

/// What a rank does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    TrainWait,
    WakeUp,
    DataPreprocess,
    RefLogProbs,
    LogProbs,
    ActorTrain,
    SaveModel,
    UpdateWeights,
    Sleep,
}

impl Phase {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::TrainWait => "train_wait",
            Self::WakeUp => "wake_up",
            Self::DataPreprocess => "data_preprocess",
            Self::RefLogProbs => "ref_log_probs",
            Self::LogProbs => "log_probs",
            Self::ActorTrain => "actor_train",
            Self::SaveModel => "save_model",
            Self::UpdateWeights => "update_weights",
            Self::Sleep => "sleep",
        }
    }

    /// Whether an open marker is written when it starts: for what can hang.
    pub(super) const fn is_marked(self) -> bool {
        matches!(self, Self::ActorTrain | Self::SaveModel | Self::UpdateWeights)
    }
}

/// A phase of a rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) phase: Phase,
    pub(super) start: Ms,
    pub(super) end: Ms,
}

/// A step, on which all ranks agree.
#[derive(Debug, Clone)]
pub(in crate::demo) struct StepPlan {
    pub(in crate::demo) rid: u32,
    pub(in crate::demo) start: Ms,
    pub(in crate::demo) eval: Option<Range<Ms>>,
    pub(in crate::demo) rollout: Range<Ms>,
    /// When the slowest rank has trained; metrics are logged then.
    pub(in crate::demo) trained: Ms,
    pub(in crate::demo) saves: bool,
    /// When the weights begin to go to the engines.
    pub(in crate::demo) saved: Ms,
    /// When the last engine has them: the next step starts.
    pub(in crate::demo) end: Ms,
    pub(in crate::demo) straggles: bool,
    pub(in crate::demo) saturated: bool,
}

/// The engine restart.
#[derive(Debug, Clone)]
pub(super) struct Restart {
    pub(super) rid: u32,
    /// Nobody answers in this time.
    pub(super) gap: Range<Ms>,
}

/// All steps of a run.
#[derive(Debug, Clone)]
pub(super) struct Timeline {
    /// Start of the attempt.
    pub(super) start: Ms,
    /// End of the data; far away in a run that follows the clock.
    pub(super) end: Ms,
    pub(super) straggler: u32,
    /// The rank whose last save does not end.
    pub(super) hung: Option<u32>,
    pub(super) restart: Restart,
    settings: Settings,
    /// Steps of the run; those behind are made up as they come.
    steps: u32,
    /// A thousandth of a unit, in 1/[`FINER`] ms, so that rounding does not add up.
    unit: Ms,
    /// Start of each step, and of the one behind.
    starts: Vec<Ms>,
}

impl Timeline {
    /// The run from `start` on. If it `goes_on` it does not hang, and its last planned step ends when
    /// the settings' minutes are over.
    pub(super) fn new(settings: &Settings, start: Ms, goes_on: bool) -> Self {
        let total = Ms::from(settings.minutes) * MINUTE;
        let steps = settings.run_steps();
        let tail = match total {
            _ if goes_on => 0,
            LONG_RUN.. => LONG_HANG,
            _ => TAIL.min(total / 20),
        };
        let start_up = START_UP.min(total / 20);
        let lanes = settings.lanes();
        let mut timeline = Self {
            start,
            end: if goes_on { Ms::MAX } else { start + total },
            straggler: (u64::from(lanes) * 5 / 8) as u32,
            hung: (!goes_on).then_some((u64::from(lanes) * 3 / 8) as u32),
            restart: Restart { rid: settings.failover_step().unwrap_or(steps / 2), gap: 0..0 },
            settings: settings.clone(),
            steps,
            unit: 0,
            starts: vec![start + start_up],
        };
        let parts: Ms = (0..steps).map(|rid| timeline.parts(rid).total()).sum();
        timeline.unit = (total - start_up - tail) * FINER / parts.max(1);
        timeline.extend(steps);
        let rollout = timeline.step(timeline.restart.rid).rollout;
        let length = rollout.end - rollout.start;
        timeline.restart.gap = rollout.start + length * 2 / 5..rollout.start + length * 13 / 20;
        timeline
    }

    /// Plans up to the step behind the one that runs at `until`.
    pub(super) fn extend_to(&mut self, until: Ms) {
        while self.planned() < self.step_at(until) + 2 && self.unit > 0 {
            self.extend(self.planned() + 1);
        }
    }

    fn extend(&mut self, steps: u32) {
        for rid in self.starts.len() as u32 - 1..steps {
            let length = self.length(self.parts(rid).total());
            self.starts.push(self.starts[rid as usize] + length);
        }
    }

    /// Thousandths of a unit as time.
    fn length(&self, parts: Ms) -> Ms {
        parts * self.unit / FINER
    }

    /// Number of steps that are planned.
    pub(super) fn planned(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The step that runs at `at`: the first before it, and the last planned one behind.
    pub(super) fn step_at(&self, at: Ms) -> u32 {
        let after = self.starts.partition_point(|&start| start <= at) as u32;
        after.saturating_sub(1).min(self.planned() - 1)
    }

    fn parts(&self, rid: u32) -> Parts {
        let mut random = Random::new(self.settings.seed, Purpose::Telemetry, [rid.into(), u64::MAX]);
        let (first, after) = (self.steps / 4, self.steps * 3 / 4);
        let straggles = self.settings.lanes() > 1 && (first..after.max(first + 1)).contains(&rid);
        Parts {
            eval: if self.evaluates(rid) { EVAL } else { 0 },
            rollout: ROLLOUT + random.below(2 * ROLLOUT_JITTER as usize + 1) as Ms - ROLLOUT_JITTER,
            train: if straggles { STRAGGLER_TRAIN } else { TRAIN },
            save: if (rid + 1).is_multiple_of(SAVED_EVERY) || rid + 1 == self.steps { SAVE } else { 0 },
            update: if straggles { STRAGGLER_UPDATE } else { UPDATE },
            straggles,
        }
    }

    /// Whether the step has an evaluation; among those with dumps they are the dumped ones.
    pub(super) fn evaluates(&self, rid: u32) -> bool {
        let first = self.settings.first_dump();
        if (first..first + self.settings.steps).contains(&rid) {
            return self.settings.eval_steps().contains(&rid);
        }
        let every = i64::from((self.settings.steps / 2).max(SAVED_EVERY));
        (i64::from(rid) - i64::from(first)).rem_euclid(every) == 0
    }

    /// What happens in a planned step.
    pub(super) fn step(&self, rid: u32) -> StepPlan {
        let (parts, start) = (self.parts(rid), self.starts[rid as usize]);
        let after = |sum: Ms| start + self.length(sum);
        let generated = parts.eval + parts.rollout;
        let trained = generated + parts.training();
        StepPlan {
            rid,
            start,
            eval: (parts.eval > 0).then(|| start..after(parts.eval)),
            rollout: after(parts.eval)..after(generated),
            trained: after(trained),
            saves: parts.save > 0,
            saved: after(trained + parts.save),
            end: self.starts[rid as usize + 1],
            straggles: parts.straggles,
            saturated: (self.steps * 3 / 8..=self.steps / 2).contains(&rid),
        }
    }

    /// The phases of a rank from the end of the previous step's last one on, in order.
    pub(super) fn spans(&self, step: &StepPlan, rank: u32) -> Vec<Span> {
        let mut random = Random::new(self.settings.seed, Purpose::Telemetry, [step.rid.into(), rank.into()]);
        let mut jitter = || self.length(random.below(RANK_JITTER as usize) as Ms);
        let slow = step.straggles && rank == self.straggler;
        let mut spans = Vec::with_capacity(10);
        let mut at = match step.rid.checked_sub(1) {
            Some(before) => self.asleep(&self.step(before), rank),
            None => step.start,
        };
        let mut until = |phase, end: Ms| {
            spans.push(Span { phase, start: at, end });
            at = end;
            end
        };
        let mut now = until(Phase::TrainWait, step.rollout.end + jitter());
        for (phase, parts) in [
            (Phase::WakeUp, WAKE_UP),
            (Phase::DataPreprocess, PREPROCESS),
            (Phase::RefLogProbs, REF_LOG_PROBS),
            (Phase::LogProbs, LOG_PROBS),
        ] {
            now = until(phase, now + self.length(parts - RANK_JITTER / 2) + jitter());
        }
        // The slowest is on time; the others are earlier.
        let trained = if slow || !step.straggles && rank == 0 {
            step.trained
        } else {
            (now + self.length(TRAIN - RANK_JITTER) + jitter()).min(step.trained)
        };
        now = until(Phase::ActorTrain, trained);
        if step.trained - now > self.length(2 * RANK_JITTER) {
            until(Phase::TrainWait, step.trained);
        }
        at = step.trained;
        let mut until = |phase, start: Ms, end: Ms| spans.push(Span { phase, start, end });
        if step.saves {
            let end = if self.hangs(step.rid, rank) { Ms::MAX } else { step.saved - jitter() };
            until(Phase::SaveModel, at, end);
        }
        if self.hung.is_some() && step.rid + 1 == self.steps {
            // Nobody gets past the save.
            until(Phase::TrainWait, step.saved, Ms::MAX);
            if self.hangs(step.rid, rank) {
                spans.pop();
            }
            return spans;
        }
        let updated = self.updated(step, rank);
        until(Phase::UpdateWeights, step.saved, updated);
        until(Phase::Sleep, updated, self.asleep(step, rank));
        spans
    }

    fn hangs(&self, rid: u32, rank: u32) -> bool {
        self.hung == Some(rank) && rid + 1 == self.steps
    }

    /// When a rank has sent its weights.
    fn updated(&self, step: &StepPlan, rank: u32) -> Ms {
        if step.straggles && rank == self.straggler {
            return step.end;
        }
        let mut random =
            Random::new(self.settings.seed, Purpose::Telemetry, [!u64::from(step.rid), rank.into()]);
        (step.saved + self.length(UPDATE - random.below(RANK_JITTER as usize) as Ms)).min(step.end)
    }

    fn asleep(&self, step: &StepPlan, rank: u32) -> Ms {
        self.updated(step, rank) + self.length(SLEEP)
    }

    /// How long the ranks compute in a step without a straggler.
    pub(super) fn usual_train(&self) -> Ms {
        self.length(TRAIN)
    }
}

/// Lengths of a step's parts in thousandths of a unit.
struct Parts {
    eval: Ms,
    rollout: Ms,
    train: Ms,
    save: Ms,
    update: Ms,
    straggles: bool,
}

impl Parts {
    /// From the end of the rollout until the slowest rank has trained.
    fn training(&self) -> Ms {
        // Each part may be late by the jitter.
        WAKE_UP + PREPROCESS + REF_LOG_PROBS + LOG_PROBS + self.train + 3 * RANK_JITTER
    }

    fn total(&self) -> Ms {
        self.eval + self.rollout + self.training() + self.save + self.update
    }
}
