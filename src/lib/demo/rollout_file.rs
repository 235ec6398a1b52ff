//! `rollout_data/{rid}.pt`: the batch as the rollout side dumps it, one sample after another.

use std::io::{self, Write};

use super::sample::{Message, Prompt, Sample};
use super::story::{Scoring, Step, Style};
use super::vocabulary::Vocabulary;
use crate::pt::write::{Pickler, save};

/// Writes the rollout file of a step.
pub(super) fn write<W: Write>(out: W, name: &str, step: &Step<'_>, vocabulary: &Vocabulary) -> io::Result<W> {
    save(out, name, |p| {
        p.dict(|p| {
            p.key("rollout_id")?;
            p.int(step.rid.into())?;
            p.key("metadata")?;
            p.dict(|_| Ok(()))?;
            p.key("samples")?;
            p.list(0..step.samples(), |p, place| sample(p, step, &step.sample(vocabulary, place), vocabulary))
        })
    })
}

fn sample(p: &mut Pickler<'_>, step: &Step<'_>, s: &Sample, vocabulary: &Vocabulary) -> io::Result<()> {
    let outcome = &s.outcome;
    let uses_tools = step.style(outcome.group) == Style::Tools;
    p.dict(|p| {
        p.key("group_index")?;
        p.int(outcome.group as i64)?;
        p.key("index")?;
        p.int(outcome.index as i64)?;
        p.key("rollout_id")?;
        // Only what an agent ran has an execution of its own.
        if uses_tools {
            p.int(outcome.index as i64)?
        } else {
            p.none()?
        }
        p.key("prompt")?;
        match &s.prompt {
            Prompt::Text(text) => p.str(text)?,
            Prompt::Chat(messages) => p.list(messages, message)?,
        }
        p.key("tokens")?;
        p.ints(s.tokens.iter().map(|&token| token.into()))?;
        none(p, "multimodal_inputs")?;
        none(p, "multimodal_train_inputs")?;
        p.key("response")?;
        p.str(&vocabulary.decode(s.response()))?;
        p.key("response_length")?;
        p.int(s.response_length as i64)?;
        p.key("label")?;
        if uses_tools {
            p.none()?
        } else {
            p.str(&s.label.to_string())?
        }
        p.key("reward")?;
        reward(p, step.scoring(outcome.group), outcome.reward)?;
        p.key("loss_mask")?;
        match &s.mask {
            Some(mask) => p.ints(mask.iter().map(|&m| m.into()))?,
            None => p.none()?,
        }
        p.key("weight_versions")?;
        p.list(&outcome.versions, |p, version| p.key(&version.to_string()))?;
        p.key("rollout_log_probs")?;
        p.floats(s.log_probs.iter().map(|&value| value.into()))?;
        none(p, "rollout_routed_experts")?;
        none(p, "rollout_indexer_topk")?;
        p.key("remove_sample")?;
        p.bool(outcome.removed)?;
        none(p, "teacher_log_probs")?;
        none(p, "opd_reverse_kl")?;
        p.key("status")?;
        p.key(outcome.status.name())?;
        p.key("metadata")?;
        p.dict(|p| {
            p.key("problem")?;
            p.int(outcome.group as i64 + 1)?;
            p.key("source")?;
            p.key("miles demo")
        })?;
        none(p, "generate_function_path")?;
        none(p, "train_metadata")?;
        none(p, "adapter")?;
        none(p, "reward_spec")?;
        none(p, "routing_key")?;
        p.key("non_generation_time")?;
        p.float(s.tool_seconds)?;
        serving(p, s)
    })
}

fn none(p: &mut Pickler<'_>, key: &str) -> io::Result<()> {
    p.key(key)?;
    p.none()
}

fn reward(p: &mut Pickler<'_>, scoring: Scoring, reward: f64) -> io::Result<()> {
    match scoring {
        Scoring::Int => p.int(reward as i64),
        Scoring::Binary | Scoring::Fraction => p.float(reward),
        Scoring::Dict => p.dict(|p| {
            p.key("score")?;
            p.float(reward)?;
            p.key("format")?;
            p.float(1.0)
        }),
    }
}

/// What the engine counted: speculative decoding and the prefix cache.
fn serving(p: &mut Pickler<'_>, s: &Sample) -> io::Result<()> {
    let generated = (0..s.response_length).filter(|&at| s.is_written(at)).count() as i64;
    // Three tokens are drafted at a time; how many are accepted differs from sample to sample.
    let accepted_of_ten = 14 + (s.outcome.index as i64 * 7) % 9;
    let verified = (generated * 10 + accepted_of_ten + 9) / (accepted_of_ten + 10);
    counts(
        p,
        "spec_info",
        &[
            ("spec_accept_token_num", generated - verified),
            ("spec_draft_token_num", verified * 3),
            ("spec_verify_ct", verified),
            ("completion_token_num", generated),
        ],
    )?;
    // The first of a group fills the cache for the others; each further call finds the last one's text.
    let prompt = (s.tokens.len() - s.response_length) as i64;
    let calls = s.outcome.versions.len() as i64;
    let later = (1..calls).map(|call| prompt + s.response_length as i64 * call / calls).sum::<i64>();
    let cached = if s.outcome.member == 0 { 0 } else { prompt - 1 };
    counts(
        p,
        "prefix_cache_info",
        &[("cached_tokens", cached + later * 9 / 10), ("total_prompt_tokens", prompt + later)],
    )
}

fn counts(p: &mut Pickler<'_>, key: &str, counts: &[(&str, i64)]) -> io::Result<()> {
    p.key(key)?;
    p.dict(|p| {
        for (key, count) in counts {
            p.key(key)?;
            p.int(*count)?;
        }
        Ok(())
    })
}

fn message(p: &mut Pickler<'_>, message: &Message) -> io::Result<()> {
    p.dict(|p| {
        p.key("role")?;
        p.key(message.role)?;
        p.key("content")?;
        p.str(&message.content)?;
        if let Some(name) = message.name {
            p.key("name")?;
            p.key(name)?;
        }
        if let Some(call) = &message.call {
            p.key("tool_calls")?;
            p.list([call], |p, call| {
                p.dict(|p| {
                    p.key("type")?;
                    p.key("function")?;
                    p.key("function")?;
                    p.dict(|p| {
                        p.key("name")?;
                        p.key(call.name)?;
                        p.key("arguments")?;
                        p.str(&call.arguments)
                    })
                })
            })?;
        }
        Ok(())
    })
}
