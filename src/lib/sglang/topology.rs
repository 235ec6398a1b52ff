//! Which engines there are, as records of the `topology` stream.
//!
//! Where an engine's GPUs are known only to whoever started it, so they are given by hand. An engine without
//! any is *external*: `gpus` and `gpu_uuids` are empty and its rank is -1.

use std::str::FromStr;

use serde_json::value::to_raw_value;

use super::address::{Address, AddressError};
use crate::record::{Engine, Record, Topology, encode_piped};

/// More GPUs than one engine can span; a list of more is a slip of the pen.
const MAX_GPUS: usize = 4096;

/// Why a text does not place an engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// The address is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The rest is none.
    #[error("'{0}' does not place an engine: ADDR=NODE:0-7 or ADDR=NODE:0,2 does")]
    Form(String),
}

/// The GPUs of one engine on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    address: Address,
    gpus: Vec<(String, i64)>,
}

impl FromStr for Placement {
    type Err = PlacementError;

    fn from_str(text: &str) -> Result<Self, PlacementError> {
        let wrong = || PlacementError::Form(text.to_owned());
        let (address, place) = text.split_once('=').ok_or_else(wrong)?;
        let (node, list) = place.rsplit_once(':').ok_or_else(wrong)?;
        let mut gpus = Vec::new();
        for part in list.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let bound = |bound: &str| bound.trim().parse::<u16>().ok();
            let (first, last) = bound(first).zip(bound(last)).ok_or_else(wrong)?;
            gpus.extend((first..=last).map(|gpu| (node.to_owned(), i64::from(gpu))));
            if first > last || gpus.len() > MAX_GPUS {
                return Err(wrong());
            }
        }
        if node.is_empty() {
            return Err(wrong());
        }
        Ok(Self { address: Address::parse(address)?, gpus })
    }
}

/// The engines as records have them, and the record when they are others than last time.
#[derive(Debug, Default)]
pub(super) struct Told {
    placements: Vec<Placement>,
    last: Option<Vec<Engine>>,
}

impl Told {
    pub fn new(placements: Vec<Placement>) -> Self {
        Self { placements, last: None }
    }

    /// Whether anybody said where engines are.
    pub fn has_places(&self) -> bool {
        !self.placements.is_empty()
    }

    /// Addresses that were placed and of which `is_known` is not true.
    pub fn strangers(&self, is_known: impl Fn(&str) -> bool) -> Vec<String> {
        let placed = self.placements.iter().map(|placement| &placement.address);
        placed.filter(|address| !is_known(address.key())).map(|address| address.text().to_owned()).collect()
    }

    /// Forgets what was told, so that it is told again.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// The line for `engines` (address, and kind where a router said it) unless they are those of last time.
    /// No engines at all are worth a line only after some.
    pub fn line<'a>(
        &mut self,
        ts: f64,
        engines: impl Iterator<Item = (&'a Address, Option<&'a str>)>,
    ) -> Option<Vec<u8>> {
        let mut rank = 0;
        let engines: Vec<Engine> = engines
            .map(|(address, kind)| {
                let gpus = self.gpus(address);
                let external = gpus.is_empty();
                let engine_rank = if external { -1 } else { rank };
                rank += i64::from(!external);
                let kind = kind.unwrap_or(if external { "external" } else { "regular" });
                Engine {
                    addr: address.text().to_owned(),
                    worker_type: Some(kind.to_owned()),
                    engine_rank: Some(engine_rank),
                    gpu_uuids: vec![None; gpus.len()],
                    gpus,
                }
            })
            .collect();
        if self.last.as_ref().map_or(engines.is_empty(), |last| *last == engines) {
            return None;
        }
        let raw = to_raw_value(&engines).ok()?;
        self.last = Some(engines);
        let mut line = Vec::new();
        let topology = Topology { ts: Some(ts), engines: Some(&raw), extra: Vec::new() };
        encode_piped(&Record::Topology(topology), &mut line);
        Some(line)
    }

    fn gpus(&self, address: &Address) -> Vec<(String, i64)> {
        let here = self.placements.iter().filter(|placement| placement.address.key() == address.key());
        here.flat_map(|placement| placement.gpus.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_placed_by_address_node_and_list() {
        let placement: Placement = "http://a:1=node-0:0-1,4".parse().unwrap();
        let node = || "node-0".to_owned();
        assert_eq!(placement.gpus, [(node(), 0), (node(), 1), (node(), 4)]);
        for wrong in
            ["", "http://a:1", "http://a:1=n", "a:1=n:", "a:1=:0", "a:1=n:3-1", "a:1=n:x", "a:1=n:0-9999"]
        {
            assert!(matches!(wrong.parse::<Placement>(), Err(PlacementError::Form(_))), "{wrong}");
        }
        assert!(matches!("ftp://a=n:0".parse::<Placement>(), Err(PlacementError::Address(_))));
    }

    #[test]
    fn engines_are_told_when_they_change_and_external_ones_have_no_gpus() {
        let addresses = ["http://a:1", "http://b:1"].map(|text| Address::parse(text).unwrap());
        let mut told = Told::new(vec!["a:1=n:0-1".parse().unwrap(), "a:1=m:0".parse().unwrap()]);
        let all = || addresses.iter().map(|address| (address, None));
        assert_eq!(told.line(1.0, all().take(0)), None);
        let line = String::from_utf8(told.line(2.0, all()).unwrap()).unwrap();
        assert_eq!(
            line,
            concat!(
                r#"{"stream":"topology","ts":2.0,"engines":["#,
                r#"{"addr":"http://a:1","worker_type":"regular","engine_rank":0,"gpus":[["n",0],["n",1],["m",0]],"gpu_uuids":[null,null,null]},"#,
                r#"{"addr":"http://b:1","worker_type":"external","engine_rank":-1,"gpus":[],"gpu_uuids":[]}]}"#,
                "\n"
            )
        );
        assert_eq!(told.line(3.0, all()), None);
        let decode = |(address, _)| (address, Some("decode"));
        assert!(told.line(4.0, all().map(decode)).is_some());
        assert!(told.line(5.0, all().take(0)).is_some());
        told.forget();
        assert!(told.line(6.0, all()).is_some());
    }
}
