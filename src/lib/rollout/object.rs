//! One sample's tokens as a single JSON object of lists: what the API answers and `tokens --object` prints.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::text::Decoder;
use super::tokens::{Sequence, SeriesName, Window};

/// A window of a sequence, ready to be serialised.
#[derive(Debug, Clone, Copy)]
pub struct TokensObject<'a> {
    /// The sample.
    pub sequence: &'a Sequence,
    /// Which positions.
    pub window: Window,
    /// What knows the text of the ids; without it `token_text` is null.
    pub decoder: Option<&'a Decoder>,
}

/// Keys of the series, in their order.
const BEFORE_MASK: [(&str, SeriesName); 1] = [("rollout_log_probs", SeriesName::RolloutLogProbs)];
const BEHIND_MASK: [(&str, SeriesName); 8] = [
    ("train_log_probs", SeriesName::TrainLogProbs),
    ("ref_log_probs", SeriesName::RefLogProbs),
    ("lp_diff", SeriesName::LpDiff),
    ("imp_ratio", SeriesName::ImpRatio),
    ("entropy", SeriesName::Entropy),
    ("ref_entropy", SeriesName::RefEntropy),
    ("advantages", SeriesName::Advantages),
    ("returns", SeriesName::Returns),
];

impl Serialize for TokensObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { sequence, window, decoder } = *self;
        let ids = &sequence.tokens[window.start..window.end];
        let mut object = serializer.serialize_struct("tokens", 20)?;
        object.serialize_field("rollout_id", &sequence.id.rollout_id)?;
        object.serialize_field("sample_index", &sequence.sample_index)?;
        object.serialize_field("evaluation", &sequence.id.evaluation)?;
        object.serialize_field("total_len", &sequence.total_len())?;
        object.serialize_field("prompt_len", &sequence.prompt_len)?;
        object.serialize_field("start", &window.start)?;
        object.serialize_field("end", &window.end)?;
        object.serialize_field("response_offset", &window.response_offset())?;
        object.serialize_field("token_ids", ids)?;
        object.serialize_field("token_text", &decoder.map(|decoder| Texts { ids, decoder }))?;
        for (key, name) in BEFORE_MASK {
            object.serialize_field(key, &series(sequence, window, name))?;
        }
        let mask = sequence.loss_mask.as_ref().and_then(|mask| mask.get(window.response()));
        object.serialize_field("loss_mask", &mask)?;
        for (key, name) in BEHIND_MASK {
            object.serialize_field(key, &series(sequence, window, name))?;
        }
        object.end()
    }
}

fn series(sequence: &Sequence, window: Window, name: SeriesName) -> Option<Values<'_>> {
    sequence.has(name).then_some(Values { sequence, window, name })
}

struct Values<'a> {
    sequence: &'a Sequence,
    window: Window,
    name: SeriesName,
}

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.window.response().map(|r| self.sequence.value(self.name, r)))
    }
}

struct Texts<'a> {
    ids: &'a [i32],
    decoder: &'a Decoder,
}

impl Serialize for Texts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.ids.iter().map(|&id| self.decoder.decode(id)))
    }
}
