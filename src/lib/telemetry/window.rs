//! Time windows, and the times that a user writes to ask for one.

use std::str::FromStr;

use jiff::Timestamp;

/// A closed window `[t0, t1]` of Unix seconds: a record at exactly either end is inside. An end
/// that is `None` is open.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Window {
    /// First time inside.
    pub t0: Option<f64>,
    /// Last time inside.
    pub t1: Option<f64>,
}

impl Window {
    /// All time; the only window that a record without a time is in.
    pub const ALL: Self = Self { t0: None, t1: None };

    /// Whether a record of this time is inside.
    #[must_use]
    pub fn contains(&self, time: Option<f64>) -> bool {
        match time {
            Some(time) => self.t0.is_none_or(|t0| t0 <= time) && self.t1.is_none_or(|t1| time <= t1),
            None => *self == Self::ALL,
        }
    }

    /// The window that a user's times mean. `newest` is asked for the newest time of the data, which
    /// relative times count back from, and only when there is one.
    ///
    /// # Errors
    /// [`TimeError::Backwards`] (as `E`) when the window ends before it starts, and what `newest` answers.
    pub fn resolve<E: From<TimeError>>(
        t0: Option<TimeArg>,
        t1: Option<TimeArg>,
        newest: impl FnOnce() -> Result<Option<f64>, E>,
    ) -> Result<Self, E> {
        let relative = [t0, t1].iter().any(|time| matches!(time, Some(TimeArg::Before(_))));
        let newest = if relative { newest()? } else { None };
        let at = |time: TimeArg| match time {
            TimeArg::At(seconds) => seconds,
            // Without a newest time there are no records that a window could hold or miss.
            TimeArg::Before(seconds) => newest.unwrap_or_default() - seconds,
        };
        let window = Self { t0: t0.map(at), t1: t1.map(at) };
        match (window.t0, window.t1) {
            (Some(t0), Some(t1)) if t0 > t1 => Err(TimeError::Backwards { t0, t1 }.into()),
            _ => Ok(window),
        }
    }
}

/// A time as a user writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeArg {
    /// Unix seconds, from a number or an RFC 3339 time.
    At(f64),
    /// Seconds before the newest record of the run, from `-1h`, `-30m`, `-15s` or `-2d`.
    Before(f64),
}

/// A time or a pair of times that makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TimeError {
    /// Not a time in any accepted form.
    #[error(
        "{text:?} is not a time; hint: Unix seconds (1769907600.5), RFC 3339 with an offset \
         (2026-02-01T01:00:00Z) or back from the newest record (-15s, -30m, -1h, -2d)"
    )]
    NotATime {
        /// What was written.
        text: String,
    },
    /// The window ends before it starts.
    #[error("the window ends at {t1} before it starts at {t0}; hint: exchange --t0 and --t1")]
    Backwards {
        /// Start, Unix seconds.
        t0: f64,
        /// End, Unix seconds.
        t1: f64,
    },
}

impl FromStr for TimeArg {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        relative(text)
            .map(Self::Before)
            .or_else(|| number(text).map(Self::At))
            .or_else(|| text.parse::<Timestamp>().ok().map(|time| Self::At(time.as_duration().as_secs_f64())))
            .ok_or_else(|| TimeError::NotATime { text: text.to_owned() })
    }
}

/// Seconds of `-90m` and the like.
fn relative(text: &str) -> Option<f64> {
    let text = text.strip_prefix('-')?;
    let unit = match text.chars().last()? {
        's' => 1.0,
        'm' => 60.0,
        'h' => 3600.0,
        'd' => 86_400.0,
        _ => return None,
    };
    number(text.get(..text.len() - 1)?).map(|count| count * unit)
}

/// A plain number from 0 on. Not negative: `-15` is far more likely `-15s` or `-15m` than a time before 1970.
fn number(text: &str) -> Option<f64> {
    text.starts_with(|first: char| first.is_ascii_digit())
        .then(|| text.parse().ok())?
        .filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_ways_to_write_a_time_are_read() {
        for (text, time) in [
            ("1769907600.5", TimeArg::At(1_769_907_600.5)),
            ("0", TimeArg::At(0.0)),
            ("1e6", TimeArg::At(1e6)),
            ("-1h", TimeArg::Before(3600.0)),
            ("-1.5m", TimeArg::Before(90.0)),
            ("-15s", TimeArg::Before(15.0)),
            ("-2d", TimeArg::Before(172_800.0)),
            ("2026-02-01T01:00:00Z", TimeArg::At(1_769_907_600.0)),
            ("2026-02-01T02:00:00.25+01:00", TimeArg::At(1_769_907_600.25)),
        ] {
            assert_eq!(text.parse(), Ok(time), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_the_forms_that_are() {
        for text in [
            "",
            "-",
            "-h",
            "-15",
            "1h",
            "--1h",
            "-1x",
            "nan",
            "inf",
            "-infs",
            "1e999",
            "2026-02-01",
            "yesterday",
            "-1é",
        ] {
            let error = text.parse::<TimeArg>().unwrap_err();
            assert!(error.to_string().contains("RFC 3339"), "{error}");
        }
    }

    #[test]
    fn a_window_is_closed_and_a_record_without_a_time_is_in_none() {
        let window = Window { t0: Some(1.0), t1: Some(2.0) };
        assert!(window.contains(Some(1.0)) && window.contains(Some(2.0)));
        assert!(!window.contains(Some(0.9)) && !window.contains(Some(2.1)) && !window.contains(None));
        assert!(Window::ALL.contains(None));
    }

    #[test]
    fn the_newest_time_is_asked_for_only_when_needed() {
        let never = || -> Result<Option<f64>, TimeError> { panic!("asked") };
        let window = Window::resolve(Some(TimeArg::At(5.0)), None, never);
        assert_eq!(window, Ok(Window { t0: Some(5.0), t1: None }));
        let newest = || -> Result<_, TimeError> { Ok(Some(100.0)) };
        let window = Window::resolve(Some(TimeArg::Before(60.0)), Some(TimeArg::Before(10.0)), newest);
        assert_eq!(window, Ok(Window { t0: Some(40.0), t1: Some(90.0) }));
        let backwards = Window::resolve(Some(TimeArg::At(5.0)), Some(TimeArg::At(4.0)), newest);
        assert_eq!(backwards, Err(TimeError::Backwards { t0: 5.0, t1: 4.0 }));
    }
}
