//! How busy the engines are at a time: windows in which they generate, and the load within.
//!
//! A window is an evaluation or the rollout of a step. In it the load rises quickly, stays, and falls
//! while the last long responses are finished. Counters are the load's integral, so they can be told
//! for any time without going through what was before.

use std::ops::Range;

use super::clock::Ms;
use super::timeline::{StepPlan, Timeline};

/// Where in a window the load is full, and from where on it falls.
const FULL: f64 = 0.04;
const FALLS: f64 = 0.5;
/// Integral of the load over a window.
const AREA: f64 = FULL / 2.0 + (FALLS - FULL) + (1.0 - FALLS) / 2.0;
/// Work of an evaluation; a rollout has 1.
const EVAL_WORK: f64 = 0.15;

/// What the engines do at some time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    /// Running requests as a share of the most, 0 outside of windows.
    pub(super) level: f64,
    /// How far the window is, 0 to 1.
    pub(super) progress: f64,
    /// Rollouts' worth of work done since the start.
    pub(super) done: f64,
    /// The part of it that was done while the cache was saturated.
    pub(super) done_saturated: f64,
    /// Work a second.
    pub(super) per_second: f64,
    pub(super) saturated: bool,
}

/// Work done before each step of a timeline: all, and that of saturated steps.
#[derive(Debug)]
pub(super) struct Work(Vec<(f64, f64)>);

impl Work {
    pub(super) fn new(timeline: &Timeline) -> Self {
        let mut sums = (0.0, 0.0);
        let before = (0..timeline.planned()).map(|rid| {
            let before = sums;
            let step = timeline.step(rid);
            let work = 1.0 + if step.eval.is_some() { EVAL_WORK } else { 0.0 };
            sums.0 += work;
            sums.1 += if step.saturated { work } else { 0.0 };
            before
        });
        Self(before.collect())
    }

    /// The load at a time in this step, or between it and the next.
    pub(super) fn at(&self, step: &StepPlan, at: Ms) -> Load {
        let (mut done, mut done_saturated) = self.0[step.rid as usize];
        let mut load = Load::default();
        let windows = [(step.eval.as_ref(), EVAL_WORK), (Some(&step.rollout), 1.0)];
        for (window, work) in windows {
            let Some(window) = window.filter(|window| window.start <= at) else { continue };
            let progress = share(window, at).min(1.0);
            done += work * integral(progress) / AREA;
            done_saturated += if step.saturated { work * integral(progress) / AREA } else { 0.0 };
            if at < window.end {
                let seconds = (window.end - window.start) as f64 / 1000.0;
                load.level = level(progress);
                load.progress = progress;
                load.per_second = work * load.level / AREA / seconds;
                load.saturated = step.saturated;
            }
        }
        Load { done, done_saturated, ..load }
    }
}

fn share(window: &Range<Ms>, at: Ms) -> f64 {
    (at - window.start) as f64 / (window.end - window.start).max(1) as f64
}

fn level(x: f64) -> f64 {
    if x < FULL {
        x / FULL
    } else if x < FALLS {
        1.0
    } else {
        (1.0 - x) / (1.0 - FALLS)
    }
}

fn integral(x: f64) -> f64 {
    if x < FULL {
        x * x / (2.0 * FULL)
    } else if x < FALLS {
        x - FULL / 2.0
    } else {
        AREA - (1.0 - x) * (1.0 - x) / (2.0 * (1.0 - FALLS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integral_grows_as_the_load_says() {
        let step = 1e-4;
        for at in 1..10_000 {
            let x = f64::from(at) * step;
            let slope = (integral(x + step / 2.0) - integral(x - step / 2.0)) / step;
            assert!((slope - level(x)).abs() < 2e-3, "{x}");
        }
        assert!(integral(0.0) == 0.0 && (integral(1.0) - AREA).abs() < 1e-12);
    }
}
