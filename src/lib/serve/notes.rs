//! How the server talks: through whoever started it. The library prints nothing.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// How much somebody wants to hear of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Something is not as it should be.
    Warning,
    /// A detail.
    Detail,
}

/// Different things that are said once; then no more of them, a broken run must not fill a log.
const MOST_ONCE: usize = 1000;

/// Where notes go.
#[derive(Clone)]
pub struct Notes(Arc<Inner>);

type Tell = dyn Fn(Level, &str) + Send + Sync;

struct Inner {
    told: Mutex<HashSet<String>>,
    tell: Box<Tell>,
}

impl Notes {
    /// Notes that `tell` gets, a line each.
    pub fn new(tell: impl Fn(Level, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { told: Mutex::default(), tell: Box::new(tell) }))
    }

    /// Notes that nobody gets.
    pub fn none() -> Self {
        Self::new(|_, _| {})
    }

    pub(super) fn warn(&self, line: &str) {
        (self.0.tell)(Level::Warning, line);
    }

    pub(super) fn detail(&self, line: &str) {
        (self.0.tell)(Level::Detail, line);
    }

    /// A warning that is not repeated.
    pub(super) fn once(&self, line: &str) {
        self.once_for(line, line);
    }

    /// A warning that is not repeated for the same `key`.
    pub(super) fn once_for(&self, key: &str, line: &str) {
        let mut told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < MOST_ONCE && told.insert(key.to_owned()) {
            drop(told);
            self.warn(line);
        }
    }
}

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notes")
    }
}
