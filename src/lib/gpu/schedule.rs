//! When to read, and when to try again.
//!
//! Ticks lie at even distances from the start, so that no delay adds up.

use std::time::{Duration, Instant};

/// Moments at whole multiples of an interval on the monotonic clock.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    start: Instant,
    interval: Duration,
    /// Which multiple is next.
    next: u64,
}

impl Schedule {
    /// The first moment is `start`.
    pub(super) fn new(start: Instant, interval: Duration) -> Self {
        Self { start, interval, next: 0 }
    }

    /// The next moment. Centuries ahead is never.
    pub(super) fn next_at(&self) -> Option<Instant> {
        let nanos = self.interval.as_nanos().checked_mul(u128::from(self.next))?;
        self.start.checked_add(Duration::from_nanos(u64::try_from(nanos).ok()?))
    }

    /// Whether the next moment has come.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next_at().is_some_and(|at| at <= now)
    }

    /// Goes on to the first moment after `now`, and says how many others lie between: they are left out, not
    /// made up for in a bunch.
    pub(super) fn advance(&mut self, now: Instant) -> u64 {
        let passed = now.saturating_duration_since(self.start).as_nanos() / self.interval.as_nanos().max(1);
        let next = u64::try_from(passed).unwrap_or(u64::MAX).saturating_add(1).max(self.next + 1);
        let skipped = next - self.next - 1;
        self.next = next;
        skipped
    }
}

/// Waits twice as long after each failure, until it has been well for a while.
#[derive(Debug)]
pub(super) struct Backoff {
    bounds: [Duration; 2],
    next: Duration,
    until: Option<Instant>,
}

impl Backoff {
    /// Waits of these lengths at least and at most.
    pub(super) fn new(bounds: [Duration; 2]) -> Self {
        Self { bounds, next: bounds[0], until: None }
    }

    /// It failed: how long to wait.
    pub(super) fn failed(&mut self, now: Instant) -> Duration {
        let [first, most] = self.bounds;
        // Well for longer than the longest wait: a new story.
        if self.until.is_none_or(|until| now > until + most) {
            self.next = first;
        }
        let wait = self.next;
        self.next = (wait * 2).min(most);
        self.until = Some(now + wait);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_late_tick_does_not_move_the_next_one() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, SECOND);
        assert!(schedule.is_due(start));
        assert_eq!(schedule.advance(start + SECOND / 3), 0);
        assert_eq!(schedule.next_at(), Some(start + SECOND));
        assert!(!schedule.is_due(start + SECOND / 2));
        assert_eq!(schedule.advance(start + SECOND + SECOND / 2), 0);
        assert_eq!(schedule.next_at(), Some(start + 2 * SECOND));
    }

    #[test]
    fn missed_ticks_are_left_out_and_counted() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, SECOND);
        schedule.advance(start);
        assert_eq!(schedule.advance(start + 5 * SECOND + SECOND / 2), 4);
        assert_eq!(schedule.next_at(), Some(start + 6 * SECOND));
    }

    #[test]
    fn a_tick_that_comes_a_moment_early_is_not_given_twice() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start + SECOND, SECOND);
        assert_eq!(schedule.advance(start), 0);
        assert_eq!(schedule.next_at(), Some(start + 2 * SECOND));
    }

    #[test]
    fn waits_grow_while_it_fails_and_begin_anew_after_a_time_without() {
        let now = Instant::now();
        let mut backoff = Backoff::new([SECOND, 4 * SECOND]);
        assert_eq!(backoff.failed(now), SECOND);
        assert_eq!(backoff.failed(now + SECOND), 2 * SECOND);
        assert_eq!(backoff.failed(now + 3 * SECOND), 4 * SECOND);
        assert_eq!(backoff.failed(now + 7 * SECOND), 4 * SECOND);
        assert_eq!(backoff.failed(now + 60 * SECOND), SECOND);
    }
}
