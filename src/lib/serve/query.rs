//! Values of a request's path and query, read strictly: a value that cannot be read is 422, one that is
//! out of bounds 400, and the answer names the parameter. Parameters that nobody asks for are ignored.

use std::convert::Infallible;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;

use super::Problem;

/// The query of a request, decoded.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Decodes the text behind `?`.
    pub fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// A parameter's text; of several with one name the last.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    fn value<T: FromStr>(&self, name: &str, what: &str) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let wrong = || Problem::unreadable(format!("{name}: {} is not {what}", shown(text)));
        text.parse().map(Some).map_err(|_| wrong())
    }

    /// An integer.
    ///
    /// # Errors
    /// 422.
    pub fn int(&self, name: &str) -> Result<Option<i64>, Problem> {
        self.value(name, "an integer")
    }

    /// An integer within bounds.
    ///
    /// # Errors
    /// 422, and 400 outside of `bounds`.
    pub fn count(&self, name: &str, default: usize, bounds: RangeInclusive<usize>) -> Result<usize, Problem> {
        let Some(value) = self.int(name)? else { return Ok(default) };
        match usize::try_from(value) {
            Ok(value) if bounds.contains(&value) => Ok(value),
            _ if *bounds.end() == usize::MAX => {
                Err(Problem::bad(format!("{name}: {value} is below {}", bounds.start())))
            }
            _ => Err(Problem::bad(format!("{name}: {value} is not {} to {}", bounds.start(), bounds.end()))),
        }
    }

    /// A finite number, such as a time in Unix seconds.
    ///
    /// # Errors
    /// 422.
    pub fn number(&self, name: &str) -> Result<Option<f64>, Problem> {
        match self.value::<f64>(name, "a number")? {
            Some(value) if !value.is_finite() => {
                Err(Problem::unreadable(format!("{name}: {value} is not a finite number")))
            }
            value => Ok(value),
        }
    }

    /// A yes or no; absent is no.
    ///
    /// # Errors
    /// 422.
    pub fn flag(&self, name: &str) -> Result<bool, Problem> {
        let Some(text) = self.text(name) else { return Ok(false) };
        // Python writes True.
        match text {
            "1" | "true" | "True" | "yes" | "on" => Ok(true),
            "0" | "false" | "False" | "no" | "off" => Ok(false),
            _ => Err(Problem::unreadable(format!("{name}: {} is neither true nor false", shown(text)))),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::parse(parts.uri.query().unwrap_or_default()))
    }
}

/// Integers in a request's path, by their names in the route.
#[derive(Debug, Clone)]
pub struct Ids(Vec<(String, i64)>);

impl Ids {
    /// The integer called `name` in the route.
    pub fn get(&self, name: &str) -> i64 {
        self.0.iter().find(|(n, _)| n == name).map_or(0, |(_, value)| *value)
    }
}

impl<S: Sync + Send> FromRequestParts<S> for Ids {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|e| Problem::unreadable(format!("path: {e}")))?;
        let each = params.iter().map(|(name, text)| match text.parse() {
            Ok(value) => Ok((name.to_owned(), value)),
            Err(_) => Err(Problem::unreadable(format!("path: {} is not an integer ({name})", shown(text)))),
        });
        each.collect::<Result<_, _>>().map(Self)
    }
}

/// A value as a message quotes it: cut, because it can be as long as the request.
pub(super) fn shown(text: &str) -> impl Display {
    let cut: String = text.chars().take(40).collect();
    if cut.len() < text.len() { format!("{cut:?}…") } else { format!("{cut:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_cannot_be_read_is_named() {
        let query = Query::parse("t0=abc&eval=maybe&n=3&n=4&big=9999999999999999999&x=nan&t1=%32.5");
        assert_eq!(query.number("t0").unwrap_err(), Problem::unreadable("t0: \"abc\" is not a number"));
        assert_eq!(query.flag("eval").unwrap_err().status, 422);
        assert_eq!(query.int("n"), Ok(Some(4)));
        assert_eq!(query.int("big").unwrap_err().status, 422);
        assert_eq!(query.number("x").unwrap_err().status, 422);
        assert_eq!(query.number("t1"), Ok(Some(2.5)));
        assert_eq!((query.int("none"), query.flag("none")), (Ok(None), Ok(false)));
    }

    #[test]
    fn a_value_out_of_bounds_is_a_bad_request() {
        let query = Query::parse("a=1&b=4001&c=-1");
        assert_eq!(query.count("a", 2000, 2..=usize::MAX).unwrap_err().detail, "a: 1 is below 2");
        assert_eq!(query.count("b", 1200, 2..=4000).unwrap_err().status, 400);
        assert_eq!(query.count("c", 1200, 2..=4000).unwrap_err().detail, "c: -1 is not 2 to 4000");
        assert_eq!(query.count("d", 1200, 2..=4000), Ok(1200));
    }

    #[test]
    fn a_long_value_is_not_echoed_whole() {
        let long = "x".repeat(5000);
        assert!(Query::parse(&format!("t0={long}")).number("t0").unwrap_err().detail.len() < 100);
    }
}
