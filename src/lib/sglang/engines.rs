//! The engines that are known, and how they became known.

use std::collections::{BTreeMap, HashSet};

use super::address::Address;
use super::workers::Worker;

/// How an engine became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// By hand or by a run's records.
    Given,
    /// The router lists it.
    Listed,
    /// It was in an answer of the router.
    Seen,
}

#[derive(Debug)]
pub(super) struct Engine {
    pub address: Address,
    /// In a router's words.
    pub worker_type: Option<String>,
    pub source: Source,
    /// It has been asked and has not answered.
    pub in_flight: bool,
}

/// Engines by [`Address::key`].
#[derive(Debug, Default)]
pub(super) struct Engines(BTreeMap<String, Engine>);

impl Engines {
    pub fn has(&self, source: Source) -> bool {
        self.all().any(|engine| engine.source == source)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn has_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// In order of their keys.
    pub fn all(&self) -> impl Iterator<Item = &Engine> {
        self.0.values()
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Engine> {
        self.0.get_mut(key)
    }

    /// Adds an engine, or what is new about a known one; answers its address as it is spelt in records.
    pub fn know(&mut self, address: Address, worker_type: Option<String>, source: Source) -> &str {
        let key = address.key().to_owned();
        let new = || Engine { address, worker_type: None, source, in_flight: false };
        let engine = self.0.entry(key).or_insert_with(new);
        engine.worker_type = worker_type.or(engine.worker_type.take());
        if engine.source == Source::Seen || source == Source::Given {
            engine.source = source;
        }
        engine.address.text()
    }

    /// Replaces those that were given; answers the addresses of those that are gone.
    pub fn give(&mut self, given: Vec<Address>) -> Vec<String> {
        let keys: HashSet<&str> = given.iter().map(Address::key).collect();
        let gone = self.forget(|key, engine| engine.source == Source::Given && !keys.contains(key));
        for address in given {
            self.know(address, None, Source::Given);
        }
        gone
    }

    /// Takes over a router's list: what it named before and does not now goes. Answers their addresses.
    pub fn list(&mut self, workers: Vec<Worker>) -> Vec<String> {
        let keys: HashSet<&str> = workers.iter().map(|worker| worker.address.key()).collect();
        let gone = self.forget(|key, engine| engine.source != Source::Given && !keys.contains(key));
        for Worker { address, worker_type } in workers {
            self.know(address, worker_type, Source::Listed);
        }
        gone
    }

    fn forget(&mut self, which: impl Fn(&str, &Engine) -> bool) -> Vec<String> {
        let mut gone = Vec::new();
        self.0.retain(|key, engine| {
            let goes = which(key, engine);
            if goes {
                gone.push(engine.address.text().to_owned());
            }
            !goes
        });
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    fn worker(text: &str, kind: &str) -> Worker {
        Worker { address: address(text), worker_type: Some(kind.to_owned()) }
    }

    fn shown(engines: &Engines) -> Vec<String> {
        let shown = |engine: &Engine| format!("{} {:?}", engine.address.text(), engine.source);
        engines.all().map(shown).collect()
    }

    #[test]
    fn given_engines_stay_when_a_router_stops_listing_them() {
        let mut engines = Engines::default();
        engines.give(vec![address("a:1"), address("b:1")]);
        engines.list(vec![worker("b:1", "decode"), worker("c:1", "prefill")]);
        assert_eq!(engines.know(address("d:1"), None, Source::Seen), "http://d:1");
        assert_eq!(
            shown(&engines),
            ["http://a:1 Given", "http://b:1 Given", "http://c:1 Listed", "http://d:1 Seen"]
        );
        assert_eq!(engines.list(vec![worker("d:1", "decode")]), ["http://c:1"]);
        assert_eq!(engines.get_mut("http://b:1").unwrap().worker_type.as_deref(), Some("decode"));
        assert_eq!(engines.give(vec![address("b:1")]), ["http://a:1"]);
        assert_eq!(shown(&engines), ["http://b:1 Given", "http://d:1 Listed"]);
    }

    #[test]
    fn a_recorded_spelling_is_kept() {
        let mut engines = Engines::default();
        engines.give(vec![Address::recorded("Node:1").unwrap()]);
        assert_eq!(engines.know(address("http://node:1/"), None, Source::Listed), "Node:1");
        assert_eq!(engines.len(), 1);
    }
}
