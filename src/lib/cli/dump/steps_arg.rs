//! Which steps a command is about: `12`, `latest`, `3-7`, `3,5,9-12`.

use std::fmt;
use std::str::FromStr;

/// Rollout ids asked for on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steps {
    /// The newest step there is.
    Latest,
    /// One step, by its rollout id.
    One(u64),
    /// Several: single ids and ranges, as given.
    Many(Vec<Span>),
}

/// Rollout ids from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Smallest id.
    pub first: u64,
    /// Largest id, not below `first`.
    pub last: u64,
}

/// What is wrong with an argument that names steps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; a step is a number such as 12, 'latest', a range such as 3-7, or a list such as 3,5,9-12")]
pub struct StepsError {
    what: String,
}

/// Why the steps asked for are not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissingSteps {
    /// The run has no step of this sort yet.
    #[error("the run has no steps yet")]
    None,
    /// An id that was named is not there.
    #[error("there is no step {id}; there are {there}")]
    One {
        /// The id asked for.
        id: u64,
        /// The ids there are, in short.
        there: String,
    },
    /// A range holds no step.
    #[error("there is no step from {first} to {last}; there are {there}")]
    Range {
        /// Start of the range asked for.
        first: u64,
        /// End of the range asked for.
        last: u64,
        /// The ids there are, in short.
        there: String,
    },
}

impl Steps {
    /// True when rows must carry `rollout_id`, because the command line does not say it alone.
    pub fn needs_rollout_id(&self) -> bool {
        !matches!(self, Self::One(_))
    }

    /// The ids meant, out of those that the run has (ascending). A range takes what is there; an id
    /// named by itself must be there. Order as asked for, each id once.
    ///
    /// # Errors
    /// Nothing is there for some part of what was asked.
    pub fn resolve(&self, there: &[u64]) -> Result<Vec<u64>, MissingSteps> {
        let spans: &[Span] = match self {
            Self::Latest => return there.last().map(|&id| vec![id]).ok_or(MissingSteps::None),
            Self::One(id) => &[Span { first: *id, last: *id }],
            Self::Many(spans) => spans,
        };
        if there.is_empty() {
            return Err(MissingSteps::None);
        }
        let mut ids = Vec::new();
        for &Span { first, last } in spans {
            let from = there.partition_point(|&id| id < first);
            let to = there.partition_point(|&id| id <= last);
            let found = there.get(from..to).unwrap_or_default();
            if found.is_empty() && first == last {
                return Err(MissingSteps::One { id: first, there: in_short(there) });
            }
            if found.is_empty() {
                return Err(MissingSteps::Range { first, last, there: in_short(there) });
            }
            ids.extend(found);
        }
        let mut seen = std::collections::HashSet::new();
        ids.retain(|&id| seen.insert(id));
        Ok(ids)
    }
}

/// Ids as a list of ranges, at most eight of them.
fn in_short(ids: &[u64]) -> String {
    const MOST: usize = 8;
    let mut spans: Vec<Span> = Vec::new();
    for &id in ids {
        match spans.last_mut() {
            Some(span) if span.last.checked_add(1) == Some(id) => span.last = id,
            _ => spans.push(Span { first: id, last: id }),
        }
    }
    let mut text: Vec<String> = spans.iter().take(MOST).map(Span::to_string).collect();
    if spans.len() > MOST {
        text.push(format!("… {}", spans[spans.len() - 1]));
    }
    text.join(", ")
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return write!(f, "{}", self.first);
        }
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::One(id) => write!(f, "{id}"),
            Self::Many(spans) => {
                let text: Vec<String> = spans.iter().map(Span::to_string).collect();
                f.write_str(&text.join(","))
            }
        }
    }
}

impl FromStr for Steps {
    type Err = StepsError;

    fn from_str(text: &str) -> Result<Self, StepsError> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        let spans: Result<Vec<Span>, StepsError> = text.split(',').map(parse_span).collect();
        let spans = spans?;
        Ok(match spans[..] {
            // `3-3` is a range: whoever wrote it (a script) counts on `rollout_id` in the rows.
            [Span { first, last }] if first == last && !text.contains('-') => Self::One(first),
            _ => Self::Many(spans),
        })
    }
}

fn parse_span(text: &str) -> Result<Span, StepsError> {
    let text = text.trim();
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (parse_id(first)?, parse_id(last)?),
        None => {
            let id = parse_id(text)?;
            (id, id)
        }
    };
    if first > last {
        return Err(StepsError { what: format!("the range {text} runs backwards") });
    }
    Ok(Span { first, last })
}

fn parse_id(text: &str) -> Result<u64, StepsError> {
    // Not `u64::from_str` alone: it takes a plus sign.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let id = if digits { text.parse().ok() } else { None };
    id.ok_or_else(|| StepsError { what: format!("'{}' is no step", crate::output::escape_controls(text)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_four_ways_to_name_steps() {
        assert_eq!("latest".parse(), Ok(Steps::Latest));
        assert_eq!("12".parse(), Ok(Steps::One(12)));
        assert_eq!("3-7".parse(), Ok(Steps::Many(vec![Span { first: 3, last: 7 }])));
        let list = vec![Span { first: 3, last: 3 }, Span { first: 5, last: 5 }, Span { first: 9, last: 12 }];
        assert_eq!("3, 5,9-12".parse(), Ok(Steps::Many(list)));
    }

    #[test]
    fn what_is_no_step_is_answered_with_what_is() {
        for wrong in ["", "x", "-3", "3-", "7-3", "3,,5", "+3", "1.5", "99999999999999999999", "newest"] {
            let error = wrong.parse::<Steps>().unwrap_err().to_string();
            assert!(error.contains("a range such as 3-7"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_range_takes_what_is_there_and_a_named_step_must_be_there() {
        let there = [1, 2, 3, 7, 9];
        let resolve = |text: &str| text.parse::<Steps>().unwrap().resolve(&there);
        assert_eq!(resolve("latest"), Ok(vec![9]));
        assert_eq!(resolve("2-8"), Ok(vec![2, 3, 7]));
        assert_eq!(resolve("9,1-3,2"), Ok(vec![9, 1, 2, 3]));
        assert_eq!(resolve("4").unwrap_err().to_string(), "there is no step 4; there are 1-3, 7, 9");
        assert!(matches!(resolve("4-6"), Err(MissingSteps::Range { .. })));
        assert_eq!(Steps::Latest.resolve(&[]), Err(MissingSteps::None));
    }

    #[test]
    fn a_huge_range_costs_nothing() {
        let all = "0-18446744073709551615".parse::<Steps>().unwrap();
        assert_eq!(all.resolve(&[5]), Ok(vec![5]));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_fall_over(text in "[0-9,\\- a-z+]{0,12}|\\PC*") {
            let _ = text.parse::<Steps>();
        }

        #[test]
        fn what_is_printed_parses_to_the_same(
            spans in prop::collection::vec((any::<u64>(), 0_u64..9), 2..6)
        ) {
            let spans = spans.iter().map(|&(first, more)| Span { first, last: first.saturating_add(more) });
            let steps = Steps::Many(spans.collect());
            prop_assert_eq!(steps.to_string().parse::<Steps>().unwrap(), steps);
        }
    }
}
