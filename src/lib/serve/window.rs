//! Time windows of a request: `t0` and `t1`, Unix seconds.

use super::Problem;
use super::query::Query;
use crate::telemetry::Window;

/// A window whose ends are both optional and whose length has no limit.
pub(super) fn optional(query: &Query) -> Result<Window, Problem> {
    let window = Window { t0: query.number("t0")?, t1: query.number("t1")? };
    match (window.t0, window.t1) {
        (Some(t0), Some(t1)) if t0 > t1 => {
            Err(Problem::bad(format!("the window ends (t1={t1}) before it starts (t0={t0})")))
        }
        _ => Ok(window),
    }
}
