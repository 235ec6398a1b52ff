//! What happens in the run: which prompt does what, and what becomes of each sample.
//!
//! Everything here is cheap and follows from the settings alone, so the reward of any sample is known
//! without writing a word of it. The stories, by place in the batch (`g` is the prompt, `j` the sample
//! of its group; prompts recur in every step, so `group_index` is `g`):
//!
//! | story | where |
//! | --- | --- |
//! | a drifting group: trainer and engine disagree more with every step | `g` 2 |
//! | dead groups, ever more: hopeless (all 0) and solved (all 1) in turn | from the last `g` down |
//! | tool calls over several turns | `g` 1, 5, 9, … |
//! | text that breaks careless readers | `g` 3 |
//! | rewards that are dicts, fractions, ints | `g` 4, 5, 6 |
//! | truncated responses, ever more | spread over the groups that are not solved |
//! | a sample removed from training | `g` 6, `j` 2, every step |
//! | an aborted sample | the step of the failover (the last if there is none), `g` 5, last `j` |
//! | one token that carries its sample's importance ratio | the last step, `g` 0, `j` 1 |
//! | a failover: weight versions fall inside the batch | step 5/8 of the way, first half of the groups |
//!
//! Steps are counted among those with dumps. A batch too small for a place uses its last group or sample
//! instead. What the telemetry tells (a straggler, a saturated cache, an engine restart, a save that
//! never ends) is listed in `telemetry/timeline.rs`; its trajectories and metrics are those of these outcomes.

use super::random::{Purpose, Random};
use super::{Settings, Split};

/// Versions that engines were ahead of the checkpoint that the trainer fell back to.
const LOST_VERSIONS: u32 = 3;
/// Shares of truncated samples at the first and at the last step, of the groups that are not solved.
const TRUNCATED: (f64, f64) = (0.05, 0.40);
/// Shares of dead groups at the first and at the last step.
const DEAD: (f64, f64) = (0.10, 0.56);
/// Response tokens a turn: room for a thought, a tool call and its result.
const TURN_TOKENS: usize = 256;
/// Response tokens that a completed answer stays below the limit.
const SPARE_TOKENS: usize = 32;

/// One batch: a train step or an evaluation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'s> {
    pub(super) settings: &'s Settings,
    pub(super) rid: u32,
    pub(super) split: Split,
}

/// How the responses to a prompt are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// A plain text prompt, one answer.
    Plain,
    /// Chat messages, one answer after thinking.
    Chat,
    /// Chat messages and tools, several turns.
    Tools,
}

/// How a prompt's rewards are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scoring {
    /// 0.0 or 1.0.
    Binary,
    /// The number within a dict.
    Dict,
    /// A half for some.
    Fraction,
    /// Python ints.
    Int,
}

/// How a sample ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Completed,
    Truncated,
    Aborted,
}

impl Status {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Truncated => "truncated",
            Self::Aborted => "aborted",
        }
    }
}

/// What becomes of one sample.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) index: usize,
    pub(super) group: usize,
    /// Place within the group.
    pub(super) member: usize,
    pub(super) reward: f64,
    pub(super) status: Status,
    pub(super) removed: bool,
    /// Response tokens to aim at: exact for one cut short, else met within a sentence.
    pub(super) length: usize,
    /// Weight version of each generation call.
    pub(super) versions: Vec<u32>,
    /// One token on which engine and trainer disagree wildly.
    pub(super) outlier: bool,
}

impl<'s> Step<'s> {
    pub(super) fn new(settings: &'s Settings, rid: u32, split: Split) -> Self {
        Self { settings, rid, split }
    }

    /// Samples a group.
    pub(super) fn members(&self) -> usize {
        match self.split {
            Split::Train => self.settings.samples_per_prompt as usize,
            Split::Eval => self.settings.samples_per_prompt.min(4) as usize,
        }
    }

    pub(super) fn groups(&self) -> usize {
        match self.split {
            Split::Train => self.settings.prompts as usize,
            Split::Eval => self.settings.prompts.div_ceil(4) as usize,
        }
    }

    pub(super) fn samples(&self) -> usize {
        self.groups() * self.members()
    }

    /// `Sample.index`: run-global among train samples; evaluations count their own.
    pub(super) fn index(&self, place: usize) -> usize {
        self.rid as usize * self.samples() + place
    }

    /// The step's place among those with dumps; 0 for those before them.
    pub(super) fn place(&self) -> u32 {
        self.rid.saturating_sub(self.settings.first_dump())
    }

    /// How far the story is, from 0 at the first step with dumps to 1 at the last.
    fn progress(&self) -> f64 {
        (f64::from(self.place()) / f64::from((self.settings.steps - 1).max(1))).min(1.0)
    }

    fn between(&self, (first, last): (f64, f64)) -> f64 {
        first + (last - first) * self.progress()
    }

    /// True at the step whose batch spans a failover.
    pub(super) fn is_failover(&self) -> bool {
        self.split == Split::Train && self.settings.failover_step() == Some(self.rid)
    }

    pub(super) fn style(&self, group: usize) -> Style {
        match group % 4 {
            1 => Style::Tools,
            3 => Style::Chat,
            _ => Style::Plain,
        }
    }

    pub(super) fn scoring(&self, group: usize) -> Scoring {
        match group {
            4 => Scoring::Dict,
            5 => Scoring::Fraction,
            6 => Scoring::Int,
            _ => Scoring::Binary,
        }
    }

    /// Scale of the trainer's log-probabilities around the engine's.
    pub(super) fn disagreement(&self, group: usize) -> f32 {
        if group != 2.min(self.groups() - 1) {
            return 0.01;
        }
        0.01 + 0.25 * (self.place() + 1).min(self.settings.steps) as f32 / self.settings.steps as f32
    }

    /// The reward that all samples of a dead group have.
    fn dead(&self, group: usize) -> Option<f64> {
        let dead = (self.between(DEAD) * self.groups() as f64).round() as usize;
        let from_the_end = self.groups() - 1 - group;
        let keeps_its_story = group == 2.min(self.groups() - 1);
        (from_the_end < dead && !keeps_its_story).then_some((group % 2) as f64)
    }

    /// Truncated samples of a group. Rounding the running total keeps the share exact over the batch.
    fn truncated(&self, group: usize) -> usize {
        if self.dead(group) == Some(1.0) {
            return 0;
        }
        let share = self.between(TRUNCATED) * self.members() as f64;
        let upto = |groups: usize| (share * groups as f64).round() as usize;
        // Someone in a live group must be able to succeed.
        let most = if self.dead(group).is_some() { self.members() } else { self.members().saturating_sub(1) };
        (upto(group + 1) - upto(group)).min(most)
    }

    /// What becomes of the sample at this place of the batch.
    pub(super) fn outcome(&self, place: usize) -> Outcome {
        let (group, member, n) = (place / self.members(), place % self.members(), self.members());
        let batch = u64::from(self.rid) * 2 + u64::from(self.split == Split::Eval);
        let mut of_group = Random::new(self.settings.seed, Purpose::Outcome, [batch, !(group as u64)]);
        let mut random = Random::new(self.settings.seed, Purpose::Outcome, [batch, place as u64]);

        // The group's samples in another order, so that the same members do not fail every time. The
        // front of the line is cut short, the back of it succeeds, and the two never meet.
        let line = (member + group * 3 + self.rid as usize) % n;
        let truncated = self.truncated(group);
        let successes = 1 + of_group.below(n - truncated.min(n - 1));
        let successes = if truncated == 0 { successes.min(n.saturating_sub(1)) } else { successes };
        let lucky = if n == 1 { of_group.chance(0.5) } else { line >= n - successes };
        let half = self.scoring(group) == Scoring::Fraction && line + 1 == n - successes;
        let last = |wanted: usize, count: usize| wanted.min(count - 1);
        let is_at = |g: usize, j: usize| group == last(g, self.groups()) && member == last(j, n);
        let train = self.split == Split::Train;

        let final_step = self.rid + 1 == self.settings.run_steps();
        let aborts = train && (self.is_failover() || self.settings.failover_step().is_none() && final_step);
        let status = if aborts && is_at(5, n - 1) {
            Status::Aborted
        } else if line < truncated {
            Status::Truncated
        } else {
            Status::Completed
        };
        let reward = match (status, self.dead(group)) {
            (Status::Aborted, None) => 0.0,
            (_, Some(reward)) => reward,
            _ if lucky => 1.0,
            _ if half => 0.5,
            _ => 0.0,
        };
        let mut versions = self.versions(group, &mut random);
        if status == Status::Aborted {
            versions.truncate(1);
        }
        Outcome {
            index: self.index(place),
            group,
            member,
            reward,
            status,
            removed: status == Status::Aborted || train && is_at(6, 2) && n > 2,
            length: self.length(status, &mut random),
            versions,
            outlier: train && final_step && is_at(0, 1),
        }
    }

    /// Mean responses grow from about half of the limit to 60 % of it.
    fn length(&self, status: Status, random: &mut Random) -> usize {
        let limit = self.settings.max_response as usize;
        let share = 0.485 + 0.1 * self.progress() as f32 + 0.18 * random.normal();
        match status {
            Status::Truncated => limit,
            Status::Aborted => limit / 16 + 1,
            Status::Completed => ((limit as f32 * share) as usize).clamp(limit / 10, limit - SPARE_TOKENS),
        }
    }

    /// A weight version for each generation call. Calls are turns; a plain answer has a second call
    /// where a weight update interrupted the first.
    fn versions(&self, group: usize, random: &mut Random) -> Vec<u32> {
        let now = self.rid;
        let before = if self.is_failover() { now + LOST_VERSIONS } else { now.saturating_sub(1) };
        let room = (self.settings.max_response as usize / TURN_TOKENS).max(1);
        let turns = match self.style(group) {
            Style::Tools => (2 + random.below(3)).min(room),
            _ => 1,
        };
        let luck = random.unit();
        let early = self.is_failover() && group < self.groups().div_ceil(2);
        match (turns, luck) {
            _ if self.split == Split::Eval => vec![now; turns],
            (1, ..0.1) if before != now => vec![before, now],
            (_, ..0.35) if turns > 1 => {
                let switch = 1 + random.below(turns - 1);
                (0..turns).map(|turn| if turn < switch { before } else { now }).collect()
            }
            _ if early => vec![before; turns],
            (_, ..0.5) if !self.is_failover() => vec![before; turns],
            _ => vec![now; turns],
        }
    }

    /// Mean and standard deviation (n-1) of a group's rewards.
    pub(super) fn reward_moments(&self, group: usize) -> (f64, f64) {
        let n = self.members();
        let rewards: Vec<f64> =
            (group * n..(group + 1) * n).map(|place| self.outcome(place).reward).collect();
        let mean = rewards.iter().sum::<f64>() / n as f64;
        let squares: f64 = rewards.iter().map(|reward| (reward - mean) * (reward - mean)).sum();
        (mean, (squares / (n.max(2) - 1) as f64).sqrt())
    }
}
