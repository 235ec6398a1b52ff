//! Gaps: since when something is missing, and when to say so.
//!
//! A gap is told when it begins, again after a minute and then half as often each time, and once more when
//! it ends. Engines are many, so the number of lines is bounded by whoever prints them, not here.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// After a minute somebody who looks at the log wants to know that it lasts.
const FIRST_REMINDER: Duration = Duration::from_secs(60);
/// A dead engine is not news more often than that.
const SLOWEST_REMINDER: Duration = Duration::from_secs(3600);

#[derive(Debug)]
struct Gap {
    since: Instant,
    missed: u64,
    told: Instant,
    remind_after: Duration,
}

/// What is missing now, by a name of its own.
#[derive(Debug, Default)]
pub(super) struct Gaps(HashMap<String, Gap>);

impl Gaps {
    /// Notes one scrape without `name`. Answers what to say about it, if anything: `why`, and how long it
    /// has lasted when that was said before.
    pub fn miss(&mut self, name: &str, why: &str, now: Instant) -> Option<String> {
        let Some(gap) = self.0.get_mut(name) else {
            let gap = Gap { since: now, missed: 1, told: now, remind_after: FIRST_REMINDER };
            self.0.insert(name.to_owned(), gap);
            return Some(why.to_owned());
        };
        gap.missed += 1;
        if now.duration_since(gap.told) < gap.remind_after {
            return None;
        }
        gap.told = now;
        gap.remind_after = (gap.remind_after * 2).min(SLOWEST_REMINDER);
        let lasted = now.duration_since(gap.since).as_secs();
        Some(format!("{why}, for {lasted} s now ({} scrapes missed)", gap.missed))
    }

    /// Notes a scrape with `name`. Answers what was missed if there was a gap.
    pub fn back(&mut self, name: &str, now: Instant) -> Option<String> {
        let gap = self.0.remove(name)?;
        let lasted = now.duration_since(gap.since).as_secs_f64();
        let scrapes = if gap.missed == 1 { "scrape" } else { "scrapes" };
        Some(format!("back after {lasted:.1} s ({} {scrapes} missed)", gap.missed))
    }

    /// Whether `name` is missing.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Forgets `name`, without a word.
    pub fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_told_at_its_ends_and_seldom_between() {
        let (mut gaps, begun) = (Gaps::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        assert_eq!(gaps.back("a", begun), None);
        assert_eq!(gaps.miss("a", "gone", begun).as_deref(), Some("gone"));
        let told: Vec<_> = (1..600).filter(|s| gaps.miss("a", "gone", at(s * 2)).is_some()).collect();
        assert_eq!(told, [30, 90, 210, 450]);
        assert!(gaps.has("a") && !gaps.has("b"));
        assert_eq!(gaps.back("a", at(1200)).as_deref(), Some("back after 1200.0 s (600 scrapes missed)"));
        assert_eq!(gaps.back("a", at(1201)), None);
        gaps.miss("a", "gone", begun);
        gaps.forget("a");
        assert!(!gaps.has("a"));
    }
}
