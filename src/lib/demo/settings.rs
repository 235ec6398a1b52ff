//! What run to write: the settings, their bounds, and what follows from them alone.

use super::telemetry::{Ms, Telemetry};
use super::{Error, plan};

/// Response tokens from which on every kind of sample has room.
pub const LEAST_RESPONSE: u32 = 256;
/// Far beyond any model's context, and small enough that no size overflows.
pub const MOST_RESPONSE: u32 = 1 << 22;
/// Two years; longer runs have no use and hours without end.
pub const MOST_MINUTES: u32 = 2 * 366 * 24 * 60;
/// Trainer ranks that dump. A job can be told to dump few ranks; a large cluster would write nothing
/// but small files.
pub const MOST_DUMPED_RANKS: u32 = 16;
/// Seconds of a step at most, if the dumped steps are to fill the run.
const LONGEST_STEP_S: u32 = 300;
/// Seconds of a step in a run of the usual length, and the most minutes that it has.
const SHORT_RUN_STEP_S: u32 = 225;
const SHORT_RUN_MINUTES: u32 = 30;
/// Seconds of a step in a run that is longer than its dumped steps.
const USUAL_STEP_S: u32 = 150;

/// What run to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Train steps with dumps. A run has more steps than these if it is longer than five minutes for
    /// each of them; the dumps are then those of the last ones.
    pub steps: u32,
    /// Prompts (groups) a train step; an evaluation has a quarter of them.
    pub prompts: u32,
    /// Samples a group in training; at most 4 in an evaluation.
    pub samples_per_prompt: u32,
    /// Tokens of the longest response, from [`LEAST_RESPONSE`] to [`MOST_RESPONSE`].
    pub max_response: u32,
    /// GPUs a node; a trainer rank on each.
    pub gpus: u32,
    /// Nodes.
    pub nodes: u32,
    /// How long the run's telemetry is; 0 for dumps alone.
    pub minutes: u32,
    /// Where the random numbers begin.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            steps: 8,
            prompts: 16,
            samples_per_prompt: 8,
            max_response: 600,
            gpus: 8,
            nodes: 1,
            minutes: Self::usual_minutes(8),
            seed: 0,
        }
    }
}

impl Settings {
    /// Minutes of a run of so many steps unless somebody wants it otherwise: steps of nearly four minutes,
    /// but at most half an hour, which is 8 of them. All of its steps have dumps.
    pub fn usual_minutes(steps: u32) -> u32 {
        let seconds = u64::from(steps) * u64::from(SHORT_RUN_STEP_S);
        seconds.div_ceil(60).min(SHORT_RUN_MINUTES.into()) as u32
    }

    /// GPUs of the run, each with a trainer rank.
    pub fn lanes(&self) -> u32 {
        self.gpus.saturating_mul(self.nodes)
    }

    /// Trainer ranks that dump: the first [`MOST_DUMPED_RANKS`], and no more than a step has samples.
    pub fn dumped_ranks(&self) -> u32 {
        self.lanes().min(MOST_DUMPED_RANKS).min(self.samples())
    }

    /// Samples of a train step.
    pub fn samples(&self) -> u32 {
        self.prompts.saturating_mul(self.samples_per_prompt)
    }

    /// Train steps of the run; their ids count from 0.
    pub fn run_steps(&self) -> u32 {
        let seconds = u64::from(self.minutes) * 60;
        if seconds <= u64::from(self.steps) * u64::from(LONGEST_STEP_S) {
            return self.steps;
        }
        (seconds / u64::from(USUAL_STEP_S)) as u32
    }

    /// Id of the first step with dumps.
    pub fn first_dump(&self) -> u32 {
        self.run_steps() - self.steps
    }

    /// The step that was trained with context parallelism 2: the middle one of those with dumps, given
    /// an even number of ranks.
    pub fn context_parallel_step(&self) -> Option<u32> {
        (self.steps > 1 && self.dumped_ranks().is_multiple_of(2)).then(|| self.first_dump() + self.steps / 2)
    }

    /// The step in whose batch weight versions fall.
    pub fn failover_step(&self) -> Option<u32> {
        (self.steps > 2).then(|| self.first_dump() + (u64::from(self.steps) * 5 / 8) as u32)
    }

    /// Steps with a dumped evaluation: the first and the middle one of those with dumps.
    pub fn eval_steps(&self) -> Vec<u32> {
        let first = self.first_dump();
        if self.steps > 1 { vec![first, first + self.steps / 2] } else { vec![first] }
    }

    /// Number of files that [`write()`](super::write()) writes and counts; the marker is not among them. A
    /// [`Live`](super::Live) run may begin with a few more, where its hours begin elsewhere.
    pub fn files(&self) -> usize {
        let telemetry = (self.minutes > 0).then(|| Telemetry::finished(self));
        plan(self, telemetry.as_ref(), Ms::MAX).len()
    }

    /// Checks that a run like this can be.
    ///
    /// # Errors
    /// [`Error::Setting`] with the setting's name and its bounds.
    pub fn check(&self) -> Result<(), Error> {
        let must = |holds: bool, name: &'static str, bounds: String| {
            if holds { Ok(()) } else { Err(Error::Setting { name, bounds }) }
        };
        let counts = [
            ("steps", self.steps),
            ("prompts", self.prompts),
            ("samples-per-prompt", self.samples_per_prompt),
            ("gpus", self.gpus),
            ("nodes", self.nodes),
        ];
        for (name, count) in counts {
            must(count > 0, name, "must be at least 1".into())?;
        }
        must(
            (LEAST_RESPONSE..=MOST_RESPONSE).contains(&self.max_response),
            "max-response",
            format!("must be {LEAST_RESPONSE} to {MOST_RESPONSE}"),
        )?;
        must(self.minutes <= MOST_MINUTES, "minutes", format!("must be 0 to {MOST_MINUTES}"))?;
        let lanes = u64::from(self.gpus) * u64::from(self.nodes);
        // Beyond it node addresses run out.
        must(
            lanes <= 1 << 17 && self.nodes <= 1 << 14,
            "nodes",
            "must be at most 16384, and 131072 GPUs".into(),
        )?;
        // The mirror holds a sample's index as int32.
        let indices = u64::from(self.run_steps()) * u64::from(self.samples());
        must(indices <= i32::MAX as u64, "steps", "times prompts and samples must stay below 2^31".into())
    }

    /// All of them by name, for the marker of a demo run.
    pub(super) fn listed(&self) -> [(&'static str, u64); 8] {
        [
            ("steps", self.steps.into()),
            ("prompts", self.prompts.into()),
            ("samples_per_prompt", self.samples_per_prompt.into()),
            ("max_response", self.max_response.into()),
            ("gpus", self.gpus.into()),
            ("nodes", self.nodes.into()),
            ("minutes", self.minutes.into()),
            ("seed", self.seed),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_are_those_of_the_last_steps_of_a_long_run() {
        let run = |steps, minutes| Settings { steps, minutes, ..Settings::default() };
        for (steps, minutes, of_run, first) in
            [(8, 30, 8, 0), (8, 0, 8, 0), (8, 40, 8, 0), (8, 41, 16, 8), (8, 720, 288, 280), (100, 1, 100, 0)]
        {
            let settings = run(steps, minutes);
            assert_eq!((settings.run_steps(), settings.first_dump()), (of_run, first), "{steps} {minutes}");
        }
        for steps in 1..100 {
            assert_eq!(run(steps, Settings::usual_minutes(steps)).first_dump(), 0, "{steps}");
        }
        assert_eq!([1, 7, 8, 9].map(Settings::usual_minutes), [4, 27, 30, 30]);
        assert_eq!(run(8, 720).eval_steps(), [280, 284]);
        assert_eq!(run(8, 720).failover_step(), Some(285));
    }

    #[test]
    fn a_cluster_may_have_more_gpus_than_a_step_has_samples() {
        let large = Settings { nodes: 128, ..Settings::default() };
        large.check().unwrap();
        assert_eq!((large.lanes(), large.dumped_ranks()), (1024, 16));
        assert_eq!(Settings { prompts: 1, samples_per_prompt: 3, ..large }.dumped_ranks(), 3);
    }
}
