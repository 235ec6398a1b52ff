//! What a scraper has to say: records, and what is wrong.

use std::time::Instant;

use super::fold::Answer;
use super::gap::Gaps;

/// What a scraper has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Lines of `engine_series`, of one engine or one router's answer; can be dropped.
    Lines(Vec<u8>),
    /// A line of `topology`; not to be dropped without [`super::Scraper::tell_topology_again`].
    Topology(Vec<u8>),
    /// Something is wrong, and what to try.
    Warning(String),
    /// What was wrong is not any more.
    News(String),
    /// Detail for who asks for it.
    Note(String),
}

/// What is to be said, and what was said before.
#[derive(Debug, Default)]
pub(super) struct Voice {
    pub gaps: Gaps,
    outputs: Vec<Output>,
}

impl Voice {
    /// What there is to say since the last call.
    pub fn take(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }

    pub fn say(&mut self, output: Output) {
        self.outputs.push(output);
    }

    /// `name` is missing from a scrape.
    pub fn miss(&mut self, name: &str, why: &str, hint: &str) {
        let text = self.gaps.miss(name, why, Instant::now());
        self.outputs.extend(text.map(|text| Output::Warning(format!("{text}; hint: {hint}"))));
    }

    /// `name` was in a scrape.
    pub fn back(&mut self, name: &str) {
        let text = self.gaps.back(name, Instant::now());
        self.outputs.extend(text.map(|text| Output::News(format!("{name}: {text}"))));
    }

    /// Says what is odd about the answer of `url`.
    pub fn remark(&mut self, url: &str, answer: &Answer) {
        let name = format!("{url} malformed");
        match answer.first_malformed {
            Some(first) => {
                let lines = if answer.malformed == 1 { "line" } else { "lines" };
                let why = format!("{url}: {} malformed {lines} skipped ({first})", answer.malformed);
                self.miss(&name, &why, "the rest is used; does something rewrite that answer?");
            }
            None => self.gaps.forget(&name),
        }
        let name = format!("{url} not finite");
        if answer.not_finite == 0 {
            self.gaps.forget(&name);
            return;
        }
        let why = format!("{url}: {} values left out, being no finite numbers", answer.not_finite);
        let text = self.gaps.miss(&name, &why, Instant::now());
        self.outputs.extend(text.map(Output::Note));
    }
}
