//! `trajectory/{rid}.jsonl`: the conversations of the samples that had one.

use std::io::{self, Write};

use serde::Serialize;

use super::sample::{Message, Prompt};
use super::story::{Scoring, Step, Style};
use super::vocabulary::Vocabulary;

#[derive(Serialize)]
struct Line<'a> {
    sample_index: usize,
    group_index: usize,
    status: &'a str,
    reward: Option<f64>,
    prompt: Vec<Said<'a>>,
    messages: Vec<Said<'a>>,
}

#[derive(Serialize)]
struct Said<'a> {
    role: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> From<&'a Message> for Said<'a> {
    fn from(message: &'a Message) -> Self {
        let call = |call: &'a super::sample::Call| ToolCall {
            kind: "function",
            function: Function { name: call.name, arguments: &call.arguments },
        };
        Self {
            role: message.role,
            name: message.name,
            reasoning_content: message.reasoning.as_deref(),
            content: &message.content,
            tool_calls: message.call.iter().map(call).collect(),
        }
    }
}

/// Writes the conversations of a step.
pub(super) fn write<W: Write>(mut out: W, step: &Step<'_>, vocabulary: &Vocabulary) -> io::Result<W> {
    let members = step.members();
    for place in (0..step.samples()).filter(|place| step.style(place / members) != Style::Plain) {
        let sample = step.sample(vocabulary, place);
        let Prompt::Chat(asked) = &sample.prompt else { continue };
        let replies = sample.replies(vocabulary);
        let is_number = step.scoring(sample.outcome.group) != Scoring::Dict;
        let line = Line {
            sample_index: sample.outcome.index,
            group_index: sample.outcome.group,
            status: sample.outcome.status.name(),
            reward: is_number.then_some(sample.outcome.reward),
            prompt: asked.iter().map(Said::from).collect(),
            messages: asked.iter().chain(&replies).map(Said::from).collect(),
        };
        serde_json::to_writer(&mut out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(out)
}
