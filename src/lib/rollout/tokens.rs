//! What one sample holds, token by token, as the engine and the trainer each saw it.

use std::borrow::Cow;
use std::path::Path;

use super::batch::Batch;
use super::mirror::{Mirror, MirrorSample};
use super::run::{Run, StepFiles};
use super::series::Computed;
use super::train::Train;
use super::{Error, StepId};

/// A whole sample: its ids and every series over its response.
#[derive(Debug)]
pub struct Sequence {
    /// Which step.
    pub id: StepId,
    /// The sample.
    pub sample_index: i64,
    /// Token ids of prompt and response.
    pub tokens: Vec<i32>,
    /// Tokens before the response.
    pub prompt_len: usize,
    /// The train row's mask; `None` without a train row (or without the column).
    pub loss_mask: Option<Vec<i32>>,
    /// Whether a train row was there: positions with mask 0 are then missing in every series.
    pub has_train: bool,
    /// By [`SeriesName`], over the response; a missing value is NaN.
    series: [Option<Vec<f32>>; 9],
    /// A column was there and could not be placed.
    pub alignment_failed: bool,
    /// Why the mirror was there and not used.
    pub mirror_note: Option<String>,
}

/// The series of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SeriesName {
    RolloutLogProbs,
    TrainLogProbs,
    RefLogProbs,
    LpDiff,
    ImpRatio,
    Entropy,
    RefEntropy,
    Advantages,
    Returns,
}

impl Sequence {
    /// Reads one sample of a step: from the mirror when there is one, else from the rollout file.
    ///
    /// # Errors
    /// [`Error::NoSample`] and what reading the step's files answers.
    pub fn read(run: &Run, files: &StepFiles, index: i64) -> Result<Self, Error> {
        let train = Train::open(files)?;
        let batch = || Batch::open(&files.rollout).map(Box::new);
        Self::of(files.id, &run.mirror_path(files.id), &train, batch, index)
    }

    /// The same of a step whose train side is open. `batch` is called only when the mirror does not do.
    ///
    /// # Errors
    /// As [`Sequence::read`].
    pub fn of<B: std::ops::Deref<Target = Batch>>(
        id: StepId,
        mirror: &Path,
        train: &Train,
        batch: impl FnOnce() -> Result<B, Error>,
        index: i64,
    ) -> Result<Self, Error> {
        let row = train.row(index);
        let mirror = Mirror::open(mirror).and_then(|m| m.sample(index));
        let (mirrored, mirror_note) = match mirror {
            Ok(sample) => (sample, None),
            Err(fallback) => (None, fallback.note().map(str::to_owned)),
        };
        // A mirror that disagrees with the trainer is of another attempt at this step.
        let agrees = |m: &MirrorSample| {
            row.is_none_or(|r| (r.response_length(), r.total_length()) == (m.response_length, m.total_length))
        };
        let mirrored = mirrored.filter(agrees);
        let (tokens, response_length, recorded) = match mirrored {
            Some(m) => (m.tokens, m.response_length, m.rollout_log_probs),
            None => {
                let batch = batch()?;
                let (place, sample) = batch.find(index)?;
                let bad = |what: &str| {
                    Error::inconsistent(
                        batch.file().path(),
                        format!("sample {index} (entry {place} of the file) {what}"),
                    )
                };
                let tokens = sample.tokens()?.ok_or_else(|| bad("has no tokens"))?;
                let length = sample.response_length().and_then(|n| usize::try_from(n).ok());
                let length = length.ok_or_else(|| bad("has no response_length that is a count"))?;
                if length > tokens.len() {
                    return Err(bad("has a response_length beyond its tokens"));
                }
                (tokens, length, sample.rollout_log_probs()?)
            }
        };
        let mut sequence = Self {
            id,
            sample_index: index,
            prompt_len: tokens.len() - response_length,
            tokens,
            loss_mask: None,
            has_train: row.is_some(),
            series: Default::default(),
            alignment_failed: false,
            mirror_note,
        };
        if let Some(row) = row {
            sequence.loss_mask = row.mask()?.map(Cow::into_owned).filter(|m| m.len() == response_length);
            let columns = row.columns()?;
            for column in Computed::ALL {
                let series = columns.get(column)?;
                sequence.alignment_failed |= series.is_unplaced();
                let fits = series.values().filter(|v| v.len() == response_length);
                sequence.alignment_failed |= fits.is_none() && series.values().is_some();
                sequence.series[name_of(column) as usize] = fits.map(<[f32]>::to_vec);
            }
        }
        // What the engine reported stands in where the trainer kept no copy that can be placed.
        let own = &mut sequence.series[SeriesName::RolloutLogProbs as usize];
        if own.is_none() {
            *own = recorded.filter(|v| v.len() == response_length);
        }
        sequence.derive();
        Ok(sequence)
    }

    fn derive(&mut self) {
        let get = |name: SeriesName| self.series[name as usize].as_deref();
        let pair = get(SeriesName::TrainLogProbs).zip(get(SeriesName::RolloutLogProbs));
        let diff: Option<Vec<f32>> = pair.map(|(t, r)| t.iter().zip(r).map(|(t, r)| t - r).collect());
        let ratio = diff.as_ref().map(|d| d.iter().map(|x| x.exp()).collect());
        self.series[SeriesName::LpDiff as usize] = diff;
        self.series[SeriesName::ImpRatio as usize] = ratio;
    }

    /// Tokens of prompt and response.
    pub fn total_len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether the run recorded a series for this sample.
    pub fn has(&self, name: SeriesName) -> bool {
        self.series[name as usize].is_some()
    }

    /// A series at a response position. Missing where it was not recorded, is NaN, or where a train row
    /// masks the position: nobody scored that token.
    pub fn value(&self, name: SeriesName, position: usize) -> Option<f32> {
        if self.has_train && self.loss_mask.as_ref().is_some_and(|m| m.get(position).is_none_or(|&m| m <= 0))
        {
            return None;
        }
        self.series[name as usize].as_ref()?.get(position).copied().filter(|x| x.is_finite())
    }

    /// The window `[start, end)` of positions, cut to the sequence.
    ///
    /// # Errors
    /// [`Error::EmptyRange`].
    pub fn window(&self, start: Option<i64>, end: Option<i64>) -> Result<Window, Error> {
        let total = self.total_len();
        let cut = |x: i64| usize::try_from(x).unwrap_or(0).min(total);
        let (from, to) = (start.map_or(0, cut), end.map_or(total, cut));
        if from >= to {
            let (start, end) = (start.unwrap_or(0), end.unwrap_or(total as i64));
            return Err(Error::EmptyRange { start, end, total });
        }
        Ok(Window { start: from, end: to, prompt_len: self.prompt_len })
    }
}

/// Positions of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First position.
    pub start: usize,
    /// Position behind the last.
    pub end: usize,
    prompt_len: usize,
}

impl Window {
    /// Where in the window the response begins; its length when none of it is in it.
    pub fn response_offset(self) -> usize {
        self.prompt_len.clamp(self.start, self.end) - self.start
    }

    /// The response positions in it.
    pub fn response(self) -> std::ops::Range<usize> {
        self.start.max(self.prompt_len) - self.prompt_len..self.end.max(self.prompt_len) - self.prompt_len
    }
}

fn name_of(column: Computed) -> SeriesName {
    match column {
        Computed::LogProbs => SeriesName::TrainLogProbs,
        Computed::RolloutLogProbs => SeriesName::RolloutLogProbs,
        Computed::RefLogProbs => SeriesName::RefLogProbs,
        Computed::Entropy => SeriesName::Entropy,
        Computed::RefEntropy => SeriesName::RefEntropy,
        Computed::Advantages => SeriesName::Advantages,
        Computed::Returns => SeriesName::Returns,
    }
}
