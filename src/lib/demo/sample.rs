//! One sample, written out: prompt, response tokens, mask, log-probabilities, and what was said.

use std::ops::Range;

use super::language::ODD;
use super::random::{Purpose, Random};
use super::story::{Outcome, Status, Step, Style};
use super::vocabulary::{
    CALL_END, CALL_START, END_OF_TEXT, THINK_END, THINK_START, TURN_END, TURN_START, Vocabulary,
};
use super::{Settings, Split};

/// Tokens kept for the answer at the end, half a sentence included.
const CLOSING_TOKENS: usize = 24;
/// Tokens kept for a tool call and its result.
const CALL_TOKENS: usize = 128;

/// A sample of the rollout side.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) outcome: Outcome,
    pub(super) prompt: Prompt,
    /// Prompt, then response.
    pub(super) tokens: Vec<u32>,
    pub(super) response_length: usize,
    /// 1 where the policy wrote the token; None where it wrote all.
    pub(super) mask: Option<Vec<u8>>,
    pub(super) log_probs: Vec<f32>,
    pub(super) turns: Vec<Turn>,
    /// Seconds in tools.
    pub(super) tool_seconds: f64,
    /// Right answer, as the data set has it.
    pub(super) label: u32,
}

/// What the policy was asked.
#[derive(Debug)]
pub(super) enum Prompt {
    Text(String),
    Chat(Vec<Message>),
}

/// A chat message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Message {
    pub(super) role: &'static str,
    pub(super) content: String,
    pub(super) name: Option<&'static str>,
    pub(super) reasoning: Option<String>,
    pub(super) call: Option<Call>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) name: &'static str,
    /// JSON text.
    pub(super) arguments: String,
}

/// One turn of the policy; ranges are places in the response.
#[derive(Debug)]
pub(super) struct Turn {
    thoughts: Range<usize>,
    words: Range<usize>,
    call: Option<(Call, String)>,
}

impl Sample {
    pub(super) fn response(&self) -> &[u32] {
        &self.tokens[self.tokens.len() - self.response_length..]
    }

    /// True where the policy wrote the token.
    pub(super) fn is_written(&self, position: usize) -> bool {
        self.mask.as_ref().is_none_or(|mask| mask[position] == 1)
    }

    /// The conversation after the prompt: what the policy said and what the tools answered.
    pub(super) fn replies(&self, vocabulary: &Vocabulary) -> Vec<Message> {
        let response = self.response();
        let text = |range: &Range<usize>| vocabulary.decode(&response[range.clone()]);
        let mut messages = Vec::new();
        for turn in &self.turns {
            let call = turn.call.as_ref();
            messages.push(Message {
                role: "assistant",
                content: text(&turn.words),
                reasoning: (!turn.thoughts.is_empty()).then(|| text(&turn.thoughts)),
                call: call.map(|(call, _)| call.clone()),
                ..Message::default()
            });
            if let Some((call, result)) = call {
                messages.push(tool_message(call.name, result.clone()));
            }
        }
        messages
    }
}

fn tool_message(name: &'static str, content: String) -> Message {
    Message { role: "tool", content, name: Some(name), ..Message::default() }
}

impl Step<'_> {
    /// Writes out the sample at this place of the batch.
    pub(super) fn sample(&self, vocabulary: &Vocabulary, place: usize) -> Sample {
        let outcome = self.outcome(place);
        let style = self.style(outcome.group);
        let (prompt, mut tokens, label) = prompt(self.settings, vocabulary, outcome.group, style, self.split);
        let prompt_length = tokens.len();
        let mut writer = Writer {
            vocabulary,
            random: Random::new(self.settings.seed, Purpose::Text, self.owner(place)),
            start: prompt_length,
            tokens: &mut tokens,
            own: Vec::new(),
            turns: Vec::new(),
            tool_seconds: 0.0,
        };
        if outcome.group == 3 && outcome.member == 0 {
            writer.text(ODD);
            writer.text("\n");
        }
        let turns = if style == Style::Tools { outcome.versions.len() } else { 1 };
        let answer = if outcome.reward > 0.0 { label } else { (label + 1 + outcome.member as u32) % 1000 };
        match outcome.status {
            Status::Completed => writer.solve(style, turns, outcome.length, answer),
            // The text goes on beyond where it is cut, so that the cut lies within a sentence.
            _ => writer.solve(style, turns, outcome.length + CLOSING_TOKENS + 8, answer),
        }
        let limit = match outcome.status {
            Status::Completed => self.settings.max_response as usize,
            _ => outcome.length,
        };
        let Writer { own, mut turns, tool_seconds, .. } = writer;
        tokens.truncate(prompt_length + limit);
        let response_length = tokens.len() - prompt_length;
        cut(&mut turns, response_length);
        let mask = (style != Style::Plain).then(|| {
            let mut mask = vec![0; response_length];
            for range in own {
                mask[range.start.min(response_length)..range.end.min(response_length)].fill(1);
            }
            mask
        });
        let log_probs = self.log_probs(place, &outcome, response_length, mask.as_deref());
        Sample { outcome, prompt, tokens, response_length, mask, log_probs, turns, tool_seconds, label }
    }

    /// Names a sample's streams of random numbers.
    pub(super) fn owner(&self, place: usize) -> [u64; 2] {
        [u64::from(self.rid) * 2 + u64::from(self.split == Split::Eval), place as u64]
    }

    /// What the engine recorded: most tokens are nearly certain, a few are far from it; 0 where a tool
    /// wrote the token.
    fn log_probs(&self, place: usize, outcome: &Outcome, len: usize, mask: Option<&[u8]>) -> Vec<f32> {
        let mut random = Random::new(self.settings.seed, Purpose::Rollout, self.owner(place));
        let mut values: Vec<f32> = (0..len)
            .map(|_| {
                let u = random.unit();
                let skew = u * u * u * u;
                -(1e-6 + skew * skew * 3.5)
            })
            .collect();
        if let Some(at) = outcome.outlier_position(len) {
            values[at] = -7.25;
        }
        for (value, _) in values.iter_mut().zip(mask.unwrap_or_default()).filter(|(_, m)| **m == 0) {
            *value = 0.0;
        }
        values
    }
}

impl Outcome {
    /// Where in the response the outlier lies.
    pub(super) fn outlier_position(&self, response_length: usize) -> Option<usize> {
        (self.outlier && response_length > 0).then_some(response_length / 3)
    }
}

/// Removes from the turns what lies behind the cut.
fn cut(turns: &mut Vec<Turn>, response_length: usize) {
    turns.retain(|turn| turn.thoughts.start < response_length);
    for turn in turns {
        for range in [&mut turn.thoughts, &mut turn.words] {
            if range.end > response_length {
                *range = range.start.min(response_length)..response_length;
                turn.call = None;
            }
        }
    }
}

/// The prompt of a group, its tokens and the right answer. It does not depend on the step: the data
/// set is gone through once a step.
fn prompt(
    settings: &Settings,
    vocabulary: &Vocabulary,
    group: usize,
    style: Style,
    split: Split,
) -> (Prompt, Vec<u32>, u32) {
    let owner = [u64::from(split == Split::Eval), group as u64];
    let mut random = Random::new(settings.seed, Purpose::Prompt, owner);
    let mut words = vocabulary.encode(&format!("Problem {}:", group + 1));
    for patterns in [&vocabulary.problems, &vocabulary.problems, &vocabulary.questions] {
        let pattern = &patterns[random.below(patterns.len())];
        vocabulary.fill(pattern, false, &mut words, |n| random.below(n));
    }
    let mut problem = vocabulary.decode(&words);
    if group == 3 {
        problem = format!("{problem}\n{ODD}");
    }
    let label = random.below(1000) as u32;
    if style == Style::Plain {
        words.push(u32::from(b'\n'));
        return (Prompt::Text(problem + "\n"), words, label);
    }
    let mut system =
        "You are a careful assistant. Think step by step, and give the final answer in a box.".to_owned();
    if style == Style::Tools {
        system += " You may call the calculator and the search tool.";
    }
    let mut messages = vec![
        Message { role: "system", content: system, ..Message::default() },
        Message { role: "user", content: problem, ..Message::default() },
    ];
    if style == Style::Tools {
        // The conversation began before this sample: one or two calls that all of the group share.
        for _ in 0..1 + random.below(2) {
            let (call, result) = tool_call(&mut random, vocabulary);
            let tool = tool_message(call.name, result);
            let content = remark(&call).to_owned();
            messages.push(Message { role: "assistant", content, call: Some(call), ..Message::default() });
            messages.push(tool);
        }
    }
    let tokens = render(vocabulary, &messages);
    (Prompt::Chat(messages), tokens, label)
}

/// Chat messages as tokens, up to where the policy begins to write.
fn render(vocabulary: &Vocabulary, messages: &[Message]) -> Vec<u32> {
    let mut tokens = Vec::new();
    for message in messages {
        tokens.push(TURN_START);
        tokens.extend(vocabulary.encode(message.role));
        tokens.extend(vocabulary.encode("\n"));
        tokens.extend(vocabulary.encode(&message.content));
        if let Some(call) = &message.call {
            tokens.extend(vocabulary.encode("\n"));
            push_call(vocabulary, &mut tokens, call);
        }
        tokens.push(TURN_END);
        tokens.extend(vocabulary.encode("\n"));
    }
    tokens.push(TURN_START);
    tokens.extend(vocabulary.encode("assistant\n"));
    tokens
}

fn push_call(vocabulary: &Vocabulary, tokens: &mut Vec<u32>, call: &Call) {
    tokens.push(CALL_START);
    let text = format!("\n{{\"name\": \"{}\", \"arguments\": {}}}\n", call.name, call.arguments);
    tokens.extend(vocabulary.encode(&text));
    tokens.push(CALL_END);
}

/// What the policy says before a call.
fn remark(call: &Call) -> &'static str {
    if call.name == "calculator" { "Let me compute that." } else { "Let me look that up." }
}

fn tool_call(random: &mut Random, vocabulary: &Vocabulary) -> (Call, String) {
    if random.chance(0.7) {
        let (a, b) = (2 + random.below(98), 2 + random.below(98));
        let call = Call { name: "calculator", arguments: format!("{{\"expression\": \"{a} * {b}\"}}") };
        return (call, format!("{{\"result\": {}}}", a * b));
    }
    let mut question = Vec::new();
    let pattern = &vocabulary.questions[random.below(vocabulary.questions.len())];
    vocabulary.fill(pattern, true, &mut question, |n| random.below(n));
    let question = vocabulary.decode(&question);
    let mut snippet = Vec::new();
    let pattern = &vocabulary.problems[random.below(vocabulary.problems.len())];
    vocabulary.fill(pattern, true, &mut snippet, |n| random.below(n));
    let call = Call { name: "search", arguments: format!("{{\"query\": \"{question}\"}}") };
    (call, format!("{{\"title\": \"{question}\", \"snippet\": \"{}\"}}", vocabulary.decode(&snippet)))
}

/// Writes a response behind the prompt and keeps its parts apart.
struct Writer<'w> {
    vocabulary: &'w Vocabulary,
    random: Random,
    /// Where the response starts in `tokens`.
    start: usize,
    tokens: &'w mut Vec<u32>,
    /// What the policy wrote, as ranges of the response.
    own: Vec<Range<usize>>,
    turns: Vec<Turn>,
    tool_seconds: f64,
}

impl Writer<'_> {
    fn len(&self) -> usize {
        self.tokens.len() - self.start
    }

    fn text(&mut self, text: &str) {
        self.tokens.extend(self.vocabulary.encode(text));
    }

    /// Sentences until the response has `until` tokens.
    fn think(&mut self, until: usize) -> Range<usize> {
        let start = self.len();
        let mut starts_line = true;
        while self.len() < until || starts_line {
            let pattern = &self.vocabulary.thoughts[self.random.below(self.vocabulary.thoughts.len())];
            let random = &mut self.random;
            // Low numbers are likelier: a few words are frequent and most are rare, as in any text.
            let pick = |n: usize| random.below(n).min(random.below(n));
            self.vocabulary.fill(pattern, starts_line, self.tokens, pick);
            starts_line = self.random.chance(0.15) && self.len() < until;
            if starts_line {
                self.tokens.push(u32::from(b'\n'));
            }
        }
        start..self.len()
    }

    /// The whole response: `turns` turns, all but the last with a tool call.
    fn solve(&mut self, style: Style, turns: usize, length: usize, answer: u32) {
        let mut own_from = 0;
        for turn in 1..=turns {
            let is_last = turn == turns;
            let budget = if is_last { length.saturating_sub(CLOSING_TOKENS) } else { length * turn / turns };
            let thoughts = if style == Style::Plain {
                let at = self.len();
                at..at
            } else {
                self.tokens.push(THINK_START);
                let thoughts = self.think(budget.saturating_sub(CALL_TOKENS * usize::from(!is_last)));
                self.tokens.push(THINK_END);
                thoughts
            };
            if is_last {
                let start = self.len();
                if style == Style::Plain {
                    self.think(budget);
                }
                let lead = if style == Style::Plain { " " } else { "" };
                self.text(&format!("{lead}The answer is \\boxed{{{answer}}}."));
                let words = start..self.len();
                self.tokens.push(if style == Style::Plain { END_OF_TEXT } else { TURN_END });
                self.turns.push(Turn { thoughts, words, call: None });
                break;
            }
            let (call, result) = tool_call(&mut self.random, self.vocabulary);
            let start = self.len();
            self.text(remark(&call));
            let words = start..self.len();
            self.text("\n");
            push_call(self.vocabulary, self.tokens, &call);
            self.tokens.push(TURN_END);
            self.own.push(own_from..self.len());
            self.text("\n");
            self.tokens.push(TURN_START);
            self.text(&format!("tool\n{result}"));
            self.tokens.push(TURN_END);
            self.text("\n");
            self.tokens.push(TURN_START);
            self.text("assistant\n");
            own_from = self.len();
            self.tool_seconds += 0.2 + 2.8 * f64::from(self.random.unit());
            self.turns.push(Turn { thoughts, words, call: Some((call, result)) });
        }
        self.own.push(own_from..self.len());
    }
}
