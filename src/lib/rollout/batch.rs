//! The rollout side of a step: one file that holds the whole batch.

use std::borrow::Cow;
use std::path::Path;

use super::age::judge;
use super::{Error, list};
use crate::pt::{self, Kind, Number, Ref};

/// `rollout_data/{rid}.pt`, opened. Lists stay where they are until they are asked for.
#[derive(Debug)]
pub struct Batch {
    file: pt::File,
    len: usize,
}

impl Batch {
    /// Opens a rollout file.
    ///
    /// # Errors
    /// [`Error::StillWriting`], [`Error::Pt`], or [`Error::Inconsistent`] when it holds no samples.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = pt::File::open(path).map_err(judge)?;
        let samples = file.root().get("samples");
        let len = samples
            .and_then(Ref::items)
            .map(|items| items.len())
            .ok_or_else(|| Error::inconsistent(path, "no list of samples: not a rollout file of miles"))?;
        Ok(Self { file, len })
    }

    /// The torch file.
    pub fn file(&self) -> &pt::File {
        &self.file
    }

    /// How many samples it holds.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The samples in the file's order.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = Sample<'_>> {
        let items = self.file.root().get("samples").and_then(Ref::items).unwrap_or_default();
        items.into_iter().map(|r| Sample { r })
    }

    /// The sample with an index, and its position.
    ///
    /// # Errors
    /// [`Error::NoSample`].
    pub fn find(&self, index: i64) -> Result<(usize, Sample<'_>), Error> {
        self.samples().enumerate().find(|(_, s)| s.index() == Some(index)).ok_or_else(|| {
            let indices = || self.samples().filter_map(|s| s.index());
            Error::NoSample {
                path: self.file.path().to_owned(),
                index,
                range: indices().min().zip(indices().max()),
            }
        })
    }
}

/// One sample as the rollout side dumped it.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    r: Ref<'a>,
}

impl<'a> Sample<'a> {
    /// The dict itself.
    pub fn value(self) -> Ref<'a> {
        self.r
    }

    /// Run-global id, the key of the join.
    pub fn index(self) -> Option<i64> {
        self.r.get("index")?.as_i64()
    }

    /// Group (prompt).
    pub fn group_index(self) -> Option<i64> {
        self.r.get("group_index")?.as_i64()
    }

    /// `completed`, `truncated`, …: a string or the value (or name) of a pickled Enum member.
    pub fn status(self) -> Option<String> {
        let r = self.r.get("status")?;
        if let Some(s) = r.as_str() {
            return Some(s.into_owned());
        }
        match r.kind().ok()? {
            // Status("completed")
            Kind::Object(o) => o.args.first()?.as_str().map(Cow::into_owned),
            // Status.COMPLETED
            Kind::Name(name) => name.rsplit('.').next().map(str::to_lowercase),
            _ => None,
        }
    }

    /// Excluded from training.
    pub fn remove_sample(self) -> Option<bool> {
        self.r.get("remove_sample")?.as_bool()
    }

    /// Tokens of the response, the last of the sequence.
    pub fn response_length(self) -> Option<i64> {
        self.r.get("response_length")?.as_i64()
    }

    /// Tokens of prompt and response.
    pub fn total_length(self) -> Option<usize> {
        list::len(self.r.get("tokens")?)
    }

    /// Token ids of prompt and response.
    ///
    /// # Errors
    /// Something in the list is no token id.
    pub fn tokens(self) -> Result<Option<Vec<i32>>, Error> {
        self.r.get("tokens").map_or(Ok(None), |r| list::ints(r, "tokens"))
    }

    /// 0 or 1 a token of the response; `None` means all 1.
    ///
    /// # Errors
    /// Something in the list is no small integer.
    pub fn loss_mask(self) -> Result<Option<Vec<i8>>, Error> {
        self.r.get("loss_mask").map_or(Ok(None), |r| list::ints(r, "loss_mask"))
    }

    /// The engine's log-probability of each token of the response; a missing one is NaN.
    ///
    /// # Errors
    /// Something in the list is no number.
    pub fn rollout_log_probs(self) -> Result<Option<Vec<f32>>, Error> {
        self.r.get("rollout_log_probs").map_or(Ok(None), |r| list::floats(r, "rollout_log_probs"))
    }

    /// The reward if it is a finite number.
    pub fn reward(self) -> Option<f64> {
        self.finite("reward")
    }

    /// Engine weight versions, one a generation call.
    pub fn weight_versions(self) -> Vec<String> {
        let Some(r) = self.r.get("weight_versions") else { return Vec::new() };
        let text = |v: Ref<'_>| v.as_str().map(Cow::into_owned).or_else(|| v.as_i64().map(|i| i.to_string()));
        let whole = |n| match n {
            Number::Int(i) => Some(i),
            Number::Bool(b) => Some(i64::from(b)),
            Number::Float(_) => None,
        };
        match r.numbers() {
            Some(numbers) => numbers.iter().filter_map(whole).map(|i| i.to_string()).collect(),
            None => r.items().into_iter().flatten().filter_map(text).collect(),
        }
    }

    /// Messages with the role `tool` in a chat prompt; `None` for a prompt that is one string.
    pub fn tool_calls(self) -> Option<i64> {
        let messages = self.r.get("prompt")?.items()?;
        let is_tool = |m: &&Ref<'_>| m.get("role").and_then(Ref::as_str).as_deref() == Some("tool");
        Some(messages.iter().filter(is_tool).count() as i64)
    }

    /// Seconds outside of generation.
    pub fn non_generation_time(self) -> Option<f64> {
        self.finite("non_generation_time")
    }

    /// Accepted over drafted tokens of speculative decoding.
    pub fn spec_accept_rate(self) -> Option<f64> {
        self.ratio("spec_info", "spec_accept_token_num", "spec_draft_token_num")
    }

    /// Cached over prompt tokens.
    pub fn prefix_cache_hit_rate(self) -> Option<f64> {
        self.ratio("prefix_cache_info", "cached_tokens", "total_prompt_tokens")
    }

    fn finite(self, key: &str) -> Option<f64> {
        self.r.get(key)?.as_f64().filter(|x| x.is_finite())
    }

    fn ratio(self, key: &str, numerator: &str, denominator: &str) -> Option<f64> {
        let info = self.r.get(key)?;
        let (n, d) = (info.get(numerator)?.as_f64()?, info.get(denominator)?.as_f64()?);
        (d != 0.0).then(|| n / d).filter(|x| x.is_finite())
    }
}
