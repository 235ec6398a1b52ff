//! Time in the demo: whole Unix milliseconds, and the hours that partitions are named after.

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Unix milliseconds.
pub(in crate::demo) type Ms = i64;

pub(super) const SECOND: Ms = 1000;
pub(super) const MINUTE: Ms = 60 * SECOND;
const HOUR: Ms = 60 * MINUTE;

/// When a run that does not follow the clock begins: 2026-01-01 11:45 UTC, so that the default run
/// of half an hour lies in two partitions.
pub(super) const EPOCH: Ms = 1_767_267_900_000;

/// The present, in whole seconds.
pub(in crate::demo) fn now() -> Ms {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() as Ms * SECOND
}

/// `YYYYMMDD_HH` of the hour that a time lies in.
pub(super) fn hour_name(at: Ms) -> String {
    // Years beyond 9999 do not come up; the epoch stands for them.
    let time = TimeZone::UTC.to_datetime(Timestamp::from_millisecond(at).unwrap_or_default());
    format!("{:04}{:02}{:02}_{:02}", time.year(), time.month(), time.day(), time.hour())
}

/// A span of time cut where the hours change.
pub(super) fn hours(span: Range<Ms>) -> impl Iterator<Item = Range<Ms>> {
    let mut at = span.start;
    std::iter::from_fn(move || {
        let start = at;
        at = span.end.min((start.div_euclid(HOUR) + 1) * HOUR);
        (start < span.end).then_some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_cut_at_full_hours() {
        let cut: Vec<_> = hours(EPOCH..EPOCH + 30 * MINUTE).collect();
        assert_eq!(cut, [EPOCH..EPOCH + 15 * MINUTE, EPOCH + 15 * MINUTE..EPOCH + 30 * MINUTE]);
        assert_eq!(hour_name(cut[0].start), "20260101_11");
        assert_eq!(hour_name(cut[1].start), "20260101_12");
        assert_eq!(hours(EPOCH..EPOCH).count(), 0);
        assert_eq!(hour_name(-1), "19691231_23");
    }
}
