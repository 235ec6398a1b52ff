//! Advice about the trainer.

use super::facts::Facts;
use super::finding::{Finding, Level, counted, percent};
use super::{Kind, Options, Rule};

/// The trainer uses little of what its GPUs could do.
pub struct LowMfu;

impl LowMfu {
    /// Threshold when nobody says: dense models reach 0.3 to 0.5, and long-tailed RL batches half of that.
    pub const THRESHOLD: f64 = 0.15;
    /// Steps after the first, which compiles and warms up; of fewer the mean is one step's accident.
    pub const MIN_STEPS: usize = 3;
}

impl Rule for LowMfu {
    fn id(&self) -> &'static str {
        "train.low_mfu"
    }

    fn kind(&self) -> Kind {
        Kind::Tuning
    }

    fn check(&self, facts: &Facts<'_>, options: &Options) -> Vec<Finding> {
        let Some(mfu) = facts.mfu.filter(|mfu| mfu.steps >= Self::MIN_STEPS) else { return Vec::new() };
        // A threshold of 0 switches the rule off: no mean is below it.
        let Some(mean) = mfu.mean.filter(|mean| *mean < options.low_mfu_threshold) else { return Vec::new() };
        let of = mfu.peak.map(|peak| format!(" of {peak:.0} TFLOPS")).unwrap_or_default();
        let message = format!(
            "the trainer's model FLOPs utilisation is {}{of}, averaged over {} after the first; {} is the threshold",
            percent(mean),
            counted(mfu.steps as u64, "step"),
            percent(options.low_mfu_threshold),
        );
        let hint =
            "larger micro-batches or dynamic batching by tokens, less recomputation, less tensor parallelism";
        let finding = Finding::new(self.id(), Level::Warning, message, hint)
            .with("mfu_mean", mean)
            .with("mfu_latest", mfu.latest)
            .with("steps", mfu.steps)
            .with("peak_tflops", mfu.peak)
            .with("threshold", options.low_mfu_threshold);
        vec![finding]
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::Mfu;
    use super::*;

    fn found(mean: f64, steps: usize, threshold: f64) -> Vec<Finding> {
        let mfu = Some(Mfu { latest: mean, mean: Some(mean), steps, peak: Some(989.0) });
        LowMfu.check(&Facts { mfu, ..Facts::default() }, &Options { low_mfu_threshold: threshold })
    }

    #[test]
    fn a_low_mean_over_three_steps_is_worth_tuning() {
        let found = found(0.12, 3, LowMfu::THRESHOLD);
        assert!(found[0].message.contains("12 % of 989 TFLOPS"), "{found:?}");
        assert_eq!(found[0].level, Level::Warning);
    }

    #[test]
    fn a_good_mean_a_young_run_and_a_threshold_of_zero_are_not() {
        assert_eq!(found(0.15, 3, LowMfu::THRESHOLD), []);
        assert_eq!(found(0.01, 2, LowMfu::THRESHOLD), []);
        assert_eq!(found(0.01, 9, 0.0), []);
        assert_eq!(LowMfu.check(&Facts::default(), &Options::default()), []);
    }
}
