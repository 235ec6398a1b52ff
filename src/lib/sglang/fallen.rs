//! A router that failed: what about it is said, and when it is tried again.

use std::time::{Duration, Instant};

/// It is tried again after this many rounds (30 s of the usual ones): soon enough to notice its return, too
/// seldom to matter to one that fails at some cost.
const ROUNDS: u32 = 15;
/// Not oftener than that, however short the rounds: bounds what a failing router is asked.
const SHORTEST: Duration = Duration::from_secs(1);
/// Not more seldom than that, however long the rounds.
const LONGEST: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Fallen {
    /// How it failed.
    pub why: String,
    /// What to try where its engines are not known.
    pub hint: &'static str,
    told: bool,
    retry_at: Instant,
}

impl Fallen {
    /// It failed just now.
    pub fn new(why: String, hint: &'static str, interval: Duration) -> Self {
        let mut fallen = Self { why, hint, told: false, retry_at: Instant::now() };
        fallen.wait(interval);
        fallen
    }

    /// It failed again.
    pub fn wait(&mut self, interval: Duration) {
        self.retry_at = Instant::now() + interval.saturating_mul(ROUNDS).clamp(SHORTEST, LONGEST);
    }

    /// Whether to try it again.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.retry_at
    }

    /// That its engines, so many of them, are asked instead; once.
    pub fn tell(&mut self, engines: usize) -> Option<String> {
        if self.told || engines == 0 {
            return None;
        }
        self.told = true;
        let engines =
            if engines == 1 { "its engine is".to_owned() } else { format!("its {engines} engines are") };
        let why = &self.why;
        Some(format!(
            "{why}; {engines} scraped directly while it fails; hint: --mode direct does so from the start"
        ))
    }
}
