//! Arguments that several questions share: the window, and counts within bounds.

use std::ops::RangeInclusive;

use super::TimelineError;
use crate::telemetry::Window;

/// Longest window that a question may name, seconds: 4 h. A window with an open end is not limited.
pub const MAX_WINDOW_S: f64 = 4.0 * 3600.0;

/// Times that a row of a heatmap or a fleet can be cut into. One is no picture, and no screen has more
/// than 4,000 columns to show them.
pub const X_BUCKETS: RangeInclusive<usize> = 2..=4000;

/// The window from `t0` to `t1`, Unix seconds; an end that is `None` is open.
///
/// # Errors
/// [`TimelineError::Argument`] when both ends are given and the window is empty or longer than
/// [`MAX_WINDOW_S`], or an end is not finite.
pub fn window(t0: Option<f64>, t1: Option<f64>) -> Result<Window, TimelineError> {
    let window = window_of_any_length(t0, t1)?;
    if let (Some(t0), Some(t1)) = (t0, t1)
        && t1 - t0 > MAX_WINDOW_S
    {
        let wanted = format!("a window of at most {MAX_WINDOW_S} s, or none for the whole run");
        return Err(TimelineError::argument("t1", format_args!("{} s after t0", t1 - t0), wanted));
    }
    Ok(window)
}

/// As [`window`], but of any length: for questions whose answer does not grow with the window.
///
/// # Errors
/// [`TimelineError::Argument`] when the window is empty or an end is not finite.
pub fn window_of_any_length(t0: Option<f64>, t1: Option<f64>) -> Result<Window, TimelineError> {
    for (name, time) in [("t0", t0), ("t1", t1)] {
        if let Some(time) = time
            && !time.is_finite()
        {
            return Err(TimelineError::argument(name, time, "Unix seconds"));
        }
    }
    match (t0, t1) {
        (Some(start), Some(end)) if end <= start => {
            Err(TimelineError::argument("t1", end, format!("a time after t0, which is {start}")))
        }
        _ => Ok(Window { t0, t1 }),
    }
}

/// The window of a picture: an open end is that of the data. `None` when there is no data to tell.
///
/// # Errors
/// [`TimelineError::Argument`] when the window then ends before it starts.
pub(super) fn drawn(
    window: &Window,
    time_range: Option<(f64, f64)>,
) -> Result<Option<(f64, f64)>, TimelineError> {
    let (oldest, newest) = time_range.unzip();
    let (Some(t0), Some(t1)) = (window.t0.or(oldest), window.t1.or(newest)) else { return Ok(None) };
    if t1 < t0 {
        let (name, time) = if window.t0.is_some() { ("t0", t0) } else { ("t1", t1) };
        let (oldest, newest) = time_range.unwrap_or((t0, t1));
        return Err(TimelineError::argument(name, time, format!("the data is of {oldest} to {newest}")));
    }
    Ok(Some((t0, t1)))
}

/// `value` if it is within `bounds`.
///
/// # Errors
/// [`TimelineError::Argument`] otherwise.
pub(super) fn within(
    name: &'static str,
    value: usize,
    bounds: RangeInclusive<usize>,
) -> Result<usize, TimelineError> {
    if bounds.contains(&value) {
        return Ok(value);
    }
    let wanted = match *bounds.end() {
        usize::MAX => format!("a number from {} on", bounds.start()),
        end => format!("a number from {} to {end}", bounds.start()),
    };
    Err(TimelineError::argument(name, value, wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_a_backward_and_a_too_long_window_are_refused() {
        for (t0, t1) in [(9.0, 1.0), (1.0, 1.0), (0.0, 14_400.5), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert!(window(Some(t0), Some(t1)).unwrap_err().is_argument(), "{t0} {t1}");
        }
        assert!(window(Some(0.0), Some(14_400.0)).is_ok());
        assert!(window_of_any_length(Some(0.0), Some(1e9)).is_ok());
    }

    #[test]
    fn a_window_with_an_open_end_is_not_limited() {
        assert!(
            window(None, None).is_ok() && window(Some(0.0), None).is_ok() && window(None, Some(1e9)).is_ok()
        );
    }

    #[test]
    fn a_picture_without_a_window_shows_all_of_the_data() {
        let data = Some((10.0, 20.0));
        assert_eq!(drawn(&Window::ALL, data).unwrap(), Some((10.0, 20.0)));
        assert_eq!(drawn(&Window { t0: Some(12.0), t1: None }, data).unwrap(), Some((12.0, 20.0)));
        assert_eq!(drawn(&Window::ALL, None).unwrap(), None);
        assert!(drawn(&Window { t0: Some(21.0), t1: None }, data).is_err());
    }
}
