//! The little language that selects lanes: `rank:0-7,node:10.0.0.1,every:4`.

use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{Lane, Lanes};

/// A union of terms, each naming some lanes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(Vec<Term>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    Rank(RangeInclusive<i64>),
    Index(RangeInclusive<i64>),
    Node(String),
    Gpu(String, i64),
    Engine(String),
    Role(String),
    Every(usize),
    All,
}

/// Why a selector cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A kind of term that does not exist.
    #[error(
        "unknown lane selector {term:?}; hint: rank:5 rank:0-7 g:5 g:0-31 node:NAME gpu:NODE:INDEX \
         engine:PART_OF_ADDRESS role:train role:rollout every:N all, with commas between"
    )]
    UnknownKind {
        /// The term.
        term: String,
    },
    /// A known kind with a value that makes no sense.
    #[error("bad value in lane selector {term:?}; hint: {wanted}")]
    BadValue {
        /// The term.
        term: String,
        /// What would be right.
        wanted: &'static str,
    },
}

impl Selector {
    /// The selected lanes, in their order. None is an answer too.
    pub fn select<'l>(&self, lanes: &'l Lanes) -> impl Iterator<Item = &'l Lane> {
        self.indices(lanes).filter_map(|index| lanes.0.get(index))
    }

    /// Indices of the selected lanes, ascending.
    pub(super) fn indices(&self, lanes: &Lanes) -> impl Iterator<Item = usize> {
        let numbered = lanes.0.iter().enumerate();
        numbered
            .filter(|(index, lane)| self.0.iter().any(|term| term.matches(*index, lane)))
            .map(|(index, _)| index)
    }

    /// Whether it selects every lane, whatever lanes there are.
    pub(super) fn is_all(&self) -> bool {
        self.0.contains(&Term::All)
    }
}

impl Term {
    fn matches(&self, index: usize, lane: &Lane) -> bool {
        match self {
            Self::Rank(range) => lane.ranks.iter().any(|rank| range.contains(rank)),
            Self::Index(range) => i64::try_from(index).is_ok_and(|index| range.contains(&index)),
            Self::Node(node) => lane.node == *node,
            Self::Gpu(node, gpu) => lane.node == *node && lane.gpu == *gpu,
            Self::Engine(part) => lane.engine_addrs.iter().any(|addr| addr.contains(part)),
            Self::Role(role) => lane.roles.contains(role),
            Self::Every(n) => index.is_multiple_of(*n),
            Self::All => true,
        }
    }
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        text.split(',').map(|term| parse_term(term.trim())).collect::<Result<_, _>>().map(Self)
    }
}

fn parse_term(term: &str) -> Result<Term, SelectorError> {
    let unknown = || SelectorError::UnknownKind { term: term.to_owned() };
    if term == "all" {
        return Ok(Term::All);
    }
    // Only the first colon separates: addresses and nodes have their own.
    let (kind, value) = term.split_once(':').ok_or_else(unknown)?;
    let (parsed, wanted) = match kind {
        "rank" => (range(value).map(Term::Rank), "one number or FIRST-LAST, such as rank:0-7"),
        "g" => (range(value).map(Term::Index), "one lane index or FIRST-LAST, such as g:0-31"),
        "node" => (text(value).map(Term::Node), "the name of a node, such as node:10.0.0.1"),
        "gpu" => (
            value.rsplit_once(':').and_then(|(node, gpu)| Some(Term::Gpu(text(node)?, number(gpu)?))),
            "a node and the index of its GPU, such as gpu:10.0.0.1:3",
        ),
        "engine" => (text(value).map(Term::Engine), "part of an engine's address, such as engine:15000"),
        "role" => (
            matches!(value, "train" | "rollout").then(|| Term::Role(value.to_owned())),
            "role:train or role:rollout",
        ),
        "every" => (
            value.parse().ok().filter(|n| *n > 0).map(Term::Every),
            "a number from 1 on, such as every:4 for every fourth lane",
        ),
        _ => return Err(unknown()),
    };
    parsed.ok_or_else(|| SelectorError::BadValue { term: term.to_owned(), wanted })
}

fn text(value: &str) -> Option<String> {
    (!value.is_empty()).then(|| value.to_owned())
}

/// A number without a sign.
fn number(value: &str) -> Option<i64> {
    value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok())?
}

fn range(value: &str) -> Option<RangeInclusive<i64>> {
    let (first, last) = value.split_once('-').unwrap_or((value, value));
    let range = number(first)?..=number(last)?;
    (!range.is_empty()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes() -> Lanes {
        let lane = |node: &str, gpu, rank: Option<i64>, addr: &str, roles: &[&str]| Lane {
            node: node.to_owned(),
            gpu,
            ranks: rank.into_iter().collect(),
            engine_addrs: vec![addr.to_owned()],
            roles: roles.iter().map(|&role| role.to_owned()).collect(),
        };
        Lanes(vec![
            lane("10.0.0.1", 0, Some(0), "http://10.0.0.1:15000", &["rollout", "train"]),
            lane("10.0.0.1", 1, Some(1), "http://10.0.0.1:15000", &["rollout", "train"]),
            lane("10.0.0.2", 0, Some(2), "http://10.0.0.2:15006", &["train"]),
            lane("fe80::1", 0, None, "http://[fe80::1]:1", &["rollout"]),
            lane("fe80::1", 1, None, "", &[]),
        ])
    }

    fn selected(text: &str) -> Vec<usize> {
        let lanes = lanes();
        let selector: Selector = text.parse().unwrap();
        let chosen: Vec<_> = selector.select(&lanes).collect();
        lanes.0.iter().enumerate().filter(|(_, lane)| chosen.contains(lane)).map(|(index, _)| index).collect()
    }

    #[test]
    fn each_kind_of_term_selects_its_lanes() {
        assert_eq!(selected("rank:1"), [1]);
        assert_eq!(selected("rank:1-9"), [1, 2]);
        assert_eq!(selected("g:3"), [3]);
        assert_eq!(selected("g:1-3"), [1, 2, 3]);
        assert_eq!(selected("node:10.0.0.1"), [0, 1]);
        assert_eq!(selected("gpu:fe80::1:1"), [4]);
        assert_eq!(selected("engine:15000"), [0, 1]);
        assert_eq!(selected("engine:http://[fe80"), [3]);
        assert_eq!(selected("role:train"), [0, 1, 2]);
        assert_eq!(selected("role:rollout"), [0, 1, 3]);
        assert_eq!(selected("every:2"), [0, 2, 4]);
        assert_eq!(selected("all"), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_comma_is_a_union_and_no_match_is_no_lane() {
        assert_eq!(selected("rank:0, every:3"), [0, 3]);
        assert_eq!(selected("node:nobody,g:100"), Vec::<usize>::new());
    }

    #[test]
    fn an_unknown_kind_and_a_bad_value_are_told_apart() {
        for text in ["", "bogus:1", "rank", "rank:1,", "ALL", "train"] {
            let error = text.parse::<Selector>().unwrap_err();
            assert!(matches!(error, SelectorError::UnknownKind { .. }), "{text}: {error}");
        }
        for text in [
            "rank:",
            "rank:x",
            "rank:-1",
            "rank:7-0",
            "rank:1-",
            "g:+1",
            "g:99999999999999999999",
            "node:",
            "gpu:a",
            "gpu:a:",
            "gpu::0",
            "engine:",
            "role:boss",
            "every:0",
            "every:-2",
        ] {
            let error = text.parse::<Selector>().unwrap_err();
            assert!(matches!(error, SelectorError::BadValue { .. }), "{text}: {error}");
        }
    }
}
