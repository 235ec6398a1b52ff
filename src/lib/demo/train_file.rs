//! `train_data/{rid}_{rank}.pt`: what one trainer rank held of the batch.

use std::io::{self, Write};
use std::ops::Range;

use super::layout::Layout;
use super::random::{Purpose, Random};
use super::sample::Sample;
use super::story::{Status, Step};
use super::vocabulary::Vocabulary;
use crate::pt::write::{Data, Pickler, save};

/// Per-token float columns, in the order in which a file has them.
const ROLLOUT_LOG_PROBS: usize = 0;
const COMPUTED: [&str; 6] = ["log_probs", "ref_log_probs", "advantages", "returns", "entropy", "ref_entropy"];

/// One row of a shard, as tensors.
struct Row {
    index: i64,
    tokens: Data,
    mask: Data,
    mask_sum: i64,
    response_length: i64,
    total_length: i64,
    reward: f64,
    truncated: bool,
    versions: Vec<u32>,
    /// `rollout_log_probs`, then [`COMPUTED`] on the last pipeline stage.
    columns: Vec<Data>,
}

/// Writes the file of one rank.
pub(super) fn write<W: Write>(
    out: W,
    name: &str,
    step: &Step<'_>,
    layout: &Layout,
    rank: usize,
    vocabulary: &Vocabulary,
) -> io::Result<W> {
    let place = layout.place(rank);
    let mut rows: Vec<Row> = (place.data..step.samples())
        .step_by(layout.data)
        .map(|at| {
            let sample = step.sample(vocabulary, at);
            let prompt = sample.tokens.len() - sample.response_length;
            let slices = layout.slices(place.context, prompt, sample.response_length);
            row(step, at, &sample, &slices, place.is_last_stage)
        })
        .collect();
    save(out, name, |p| {
        p.dict(|p| {
            ints(p, &[("rollout_id", step.rid.into()), ("rank", rank as i64)])?;
            p.key("rollout_data")?;
            p.dict(|p| columns(p, step, &mut rows))?;
            ints(p, &[("cp_rank", place.context as i64), ("cp_size", layout.context as i64)])?;
            p.key("qkv_format")?;
            p.key("thd")
        })
    })
}

fn ints(p: &mut Pickler<'_>, entries: &[(&str, i64)]) -> io::Result<()> {
    for (key, value) in entries {
        p.key(key)?;
        p.int(*value)?;
    }
    Ok(())
}

fn columns(p: &mut Pickler<'_>, step: &Step<'_>, rows: &mut [Row]) -> io::Result<()> {
    // Tensors move out of the rows: a shard is in memory once.
    p.key("tokens")?;
    p.list(rows.iter_mut(), |p, row| p.tensor(take(&mut row.tokens)))?;
    p.key("response_lengths")?;
    p.ints(rows.iter().map(|row| row.response_length))?;
    p.key("rewards")?;
    p.floats(rows.iter().map(|row| row.reward))?;
    p.key("truncated")?;
    p.ints(rows.iter().map(|row| row.truncated.into()))?;
    p.key("loss_masks")?;
    p.list(rows.iter_mut(), |p, row| p.tensor(take(&mut row.mask)))?;
    p.key("sample_indices")?;
    p.ints(rows.iter().map(|row| row.index))?;
    p.key("rollout_ids")?;
    p.ints(rows.iter().map(|row| row.index))?;
    p.key("rollout_mask_sums")?;
    p.ints(rows.iter().map(|row| row.mask_sum))?;
    p.key("rollout_log_probs")?;
    p.list(rows.iter_mut(), |p, row| p.tensor(take(&mut row.columns[ROLLOUT_LOG_PROBS])))?;
    p.key("weight_versions")?;
    p.list(rows.iter(), |p, row| p.list(&row.versions, |p, version| p.key(&version.to_string())))?;
    p.key("raw_reward")?;
    p.floats((0..step.samples()).map(|at| step.outcome(at).reward))?;
    p.key("total_lengths")?;
    p.ints(rows.iter().map(|row| row.total_length))?;
    for (at, name) in (1..).zip(COMPUTED) {
        if rows.first().is_none_or(|row| row.columns.len() <= at) {
            break;
        }
        p.key(name)?;
        p.list(rows.iter_mut(), |p, row| p.tensor(take(&mut row.columns[at])))?;
    }
    Ok(())
}

fn take(data: &mut Data) -> Data {
    std::mem::replace(data, Data::f32(&[]))
}

fn row(step: &Step<'_>, at: usize, s: &Sample, slices: &[Range<usize>; 2], computes: bool) -> Row {
    let (mean, deviation) = step.reward_moments(s.outcome.group);
    let reward = (s.outcome.reward - mean) / (deviation + 1e-6);
    let trained = |position| !s.outcome.removed && s.is_written(position);
    let mask = (0..s.response_length).map(|position| i32::from(trained(position)));
    let slice = |values: &[f32]| {
        if slices[0].len() == values.len() {
            return Data::f32(values);
        }
        Data::f32(&[&values[slices[0].clone()], &values[slices[1].clone()]].concat())
    };
    let mut columns = vec![slice(&s.log_probs)];
    if computes {
        let scores = Scores::new(step, at, s);
        // GRPO: every token of a sample has the sample's advantage, and nothing is discounted.
        let advantages = vec![reward as f32; s.response_length];
        columns.extend(
            [
                &scores.log_probs,
                &scores.ref_log_probs,
                &advantages,
                &advantages,
                &scores.entropy,
                &scores.ref_entropy,
            ]
            .map(|values| slice(values)),
        );
    }
    Row {
        index: s.outcome.index as i64,
        tokens: Data::i64(s.tokens.iter().map(|&token| token.into())),
        mask_sum: mask.clone().map(i64::from).sum(),
        mask: Data::i32(mask),
        response_length: s.response_length as i64,
        total_length: s.tokens.len() as i64,
        reward,
        truncated: s.outcome.status == Status::Truncated,
        versions: s.outcome.versions.clone(),
        columns,
    }
}

/// What the trainer and the reference model made of a response, full length.
struct Scores {
    log_probs: Vec<f32>,
    ref_log_probs: Vec<f32>,
    entropy: Vec<f32>,
    ref_entropy: Vec<f32>,
}

impl Scores {
    fn new(step: &Step<'_>, at: usize, s: &Sample) -> Self {
        let mut random = Random::new(step.settings.seed, Purpose::Train, step.owner(at));
        let disagreement = step.disagreement(s.outcome.group);
        // The policy moves away from the reference as it learns.
        let steps = step.settings.steps;
        let distance = 0.02 + 0.1 * step.place().min(steps) as f32 / steps as f32;
        let n = s.response_length;
        let with_room = || Vec::with_capacity(n);
        let mut scores = Self {
            log_probs: with_room(),
            ref_log_probs: with_room(),
            entropy: with_room(),
            ref_entropy: with_room(),
        };
        for &rollout in &s.log_probs {
            let log_prob = nearby(rollout, disagreement * random.normal());
            let reference = nearby(log_prob, distance * random.normal());
            // Unlikely tokens are chosen where the model is unsure.
            let spread = random.unit();
            let entropy = 0.002 + 0.05 * spread + 0.6 * (-log_prob).sqrt() * (0.5 + spread);
            scores.log_probs.push(log_prob);
            scores.ref_log_probs.push(reference);
            scores.entropy.push(entropy);
            scores.ref_entropy.push(entropy * (1.0 + distance * spread));
        }
        if let Some(at) = s.outcome.outlier_position(n) {
            scores.log_probs[at] = -1.0;
        }
        scores
    }
}

/// What another model gives a token. Where one is certain, the others hardly differ.
fn nearby(log_prob: f32, noise: f32) -> f32 {
    -(log_prob + noise * (0.05 + (-log_prob).sqrt())).abs()
}
