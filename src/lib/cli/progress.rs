//! A progress bar for people who wait: on stderr, only on a terminal, only after a second.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts units of work; cheap to clone and to share between threads. Goes away when the last clone
/// does, or at [`Progress::retire`].
#[derive(Clone)]
pub struct Progress(Arc<Inner>);

struct Inner {
    shown: bool,
    started: Instant,
    total: u64,
    done: AtomicU64,
    retired: AtomicBool,
    unit: &'static str,
    bar: OnceLock<ProgressBar>,
}

impl Progress {
    /// Counts up to `total` units named `unit` (`steps`, `samples`). Silent unless `shown`.
    pub(super) fn new(total: u64, unit: &'static str, shown: bool) -> Self {
        Self(Arc::new(Inner {
            shown,
            started: Instant::now(),
            total,
            done: AtomicU64::new(0),
            retired: AtomicBool::new(false),
            unit,
            bar: OnceLock::new(),
        }))
    }

    /// Adds `units` of finished work.
    pub fn add(&self, units: u64) {
        let inner = &*self.0;
        let done = inner.done.fetch_add(units, Ordering::Relaxed) + units;
        if !inner.shown || inner.retired.load(Ordering::Relaxed) || inner.started.elapsed() < PATIENCE {
            return;
        }
        inner.bar.get_or_init(|| bar(inner.total, inner.unit)).set_position(done);
    }

    /// Takes the bar away for good; rows on the same terminal would run into it.
    pub fn retire(&self) {
        self.0.retired.store(true, Ordering::Relaxed);
        if let Some(bar) = self.0.bar.get() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: u64, unit: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}  {elapsed}, {eta} left") {
        bar.set_style(style);
    }
    bar.set_message(unit);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_work_and_quiet_work_show_no_bar() {
        let progress = Progress::new(10, "steps", true);
        progress.add(3);
        assert!(progress.0.bar.get().is_none());
        assert_eq!(progress.0.done.load(Ordering::Relaxed), 3);
        let quiet = Progress::new(10, "steps", false);
        quiet.add(10);
        quiet.retire();
        assert!(quiet.0.bar.get().is_none());
    }
}
