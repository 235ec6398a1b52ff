//! Random runs: the fast answers equal those of code that says the rules one after the other.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

use miles::telemetry::{Store, StoreOptions};
use miles::timeline::{self, LaneIndex, LaneMetric, Selection};
use proptest::prelude::*;
use serde_json::{Value, json};

const NAMES: [&str; 4] = ["work", "sleep", "actor_train", "train_wait"];
const LANES: i64 = 3;

#[derive(Debug, Clone)]
struct Phase {
    name: &'static str,
    t0: f64,
    /// `None` is an open marker.
    t1: Option<f64>,
    /// `None` is the rollout manager's.
    gpu: Option<i64>,
}

#[derive(Debug, Clone)]
struct Run {
    start: Option<f64>,
    phases: Vec<Phase>,
    /// Time and the GPUs of the engines.
    snapshots: Vec<(f64, Vec<i64>)>,
    /// Time, GPU, utilisation.
    readings: Vec<(f64, i64, i32)>,
    window: (f64, f64),
    buckets: usize,
    points: usize,
}

/// Halves of seconds in 100 s, so that times meet each other and the edges of buckets.
fn time() -> impl Strategy<Value = f64> {
    (0..=200_u32).prop_map(|halves| f64::from(halves) / 2.0)
}

fn phase() -> impl Strategy<Value = Phase> {
    let gpu = prop_oneof![2 => (0..LANES).prop_map(Some), 1 => Just(None)];
    (0..NAMES.len(), time(), 0..40_u32, any::<bool>(), gpu).prop_map(|(name, t0, halves, open, gpu)| Phase {
        name: NAMES[name],
        t0,
        t1: (!open || halves > 30).then_some(t0 + f64::from(halves) / 2.0),
        gpu,
    })
}

fn run() -> impl Strategy<Value = Run> {
    let snapshot = (time(), prop::collection::vec(0..LANES, 1..3));
    (
        prop::option::of(time()),
        prop::collection::vec(phase(), 0..20),
        prop::collection::vec(snapshot, 0..4),
        prop::collection::vec((time(), 0..LANES, 0..=120), 1..80),
        (0..100_u32, 1..60_u32),
        2..50_usize,
        2..20_usize,
    )
        .prop_map(|(start, phases, snapshots, readings, (from, span), buckets, points)| Run {
            start,
            phases,
            snapshots,
            readings,
            window: (f64::from(from), f64::from(from + span)),
            buckets,
            points,
        })
}

impl Run {
    /// The first half of a stream lies in the flat file, the rest in an hour's.
    fn write(&self, dashboard: &std::path::Path) {
        let write = |stream: &str, lines: Vec<Value>| {
            let text = |lines: &[Value]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let (flat, hour) = lines.split_at(lines.len() / 2);
            fs::write(dashboard.join(format!("{stream}.jsonl")), text(flat)).unwrap();
            let folder = dashboard.join(stream);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("19700101_00.jsonl"), text(hour)).unwrap();
        };
        let phase = |phase: &Phase| {
            let (gpus, rank, role) = match phase.gpu {
                Some(gpu) => (vec![gpu], gpu, "train"),
                None => (vec![], -1, "rollout_manager"),
            };
            let t1 = phase.t1.unwrap_or(-1.0);
            json!({ "name": phase.name, "t0": phase.t0, "t1": t1, "node": "n", "gpus": gpus, "rank": rank, "role": role })
        };
        write("phases", self.phases.iter().map(phase).collect());
        let reading = |&(ts, gpu, util): &(f64, i64, i32)| json!({ "ts": ts, "node": "n", "gpu": gpu, "util": util, "mem_mb": 2 * util, "power_w": 1 });
        write("gpu_util", self.readings.iter().map(reading).collect());
        let snapshots = self.snapshots.iter().map(|(ts, gpus)| {
            let gpus: Vec<_> = gpus.iter().map(|gpu| json!(["n", gpu])).collect();
            format!("{}\n", json!({ "ts": ts, "engines": [{ "addr": "http://n:1", "gpus": gpus }] }))
        });
        fs::write(dashboard.join("topology.jsonl"), snapshots.collect::<String>()).unwrap();
        let lanes: serde_json::Map<_, _> = (0..LANES).map(|gpu| (format!("n:{gpu}"), json!({}))).collect();
        fs::write(dashboard.join("lane_catalog.json"), json!({ "lanes": lanes }).to_string()).unwrap();
        if let Some(start) = self.start {
            fs::write(dashboard.join("meta.json"), json!({ "start_ts": start }).to_string()).unwrap();
        }
    }

    /// Newest time as the store has it: of hourly streams that of the last file's last records.
    fn pieces(&self, newest: f64) -> BTreeMap<i64, Vec<(String, f64, f64)>> {
        let (from, to) = self.window;
        let overlaps = |t0: f64, t1: f64| t0 < to && t1 > from;
        let mut lanes: BTreeMap<i64, Vec<(String, f64, f64)>> = (0..LANES).map(|gpu| (gpu, vec![])).collect();
        let mut snapshots = self.snapshots.clone();
        snapshots.sort_by(|a, b| a.0.total_cmp(&b.0));
        let closes = |open: &Phase, other: &Phase| {
            other.t1.is_some() && (open.name, open.t0, open.gpu) == (other.name, other.t0, other.gpu)
        };
        // The store hands out what is closed first.
        let order = self
            .phases
            .iter()
            .filter(|p| p.t1.is_some())
            .chain(self.phases.iter().filter(|p| p.t1.is_none()));
        for phase in order {
            if phase.t1.is_none() && self.phases.iter().any(|other| closes(phase, other)) {
                continue;
            }
            let t1 = phase.t1.unwrap_or(newest.max(phase.t0));
            if !overlaps(phase.t0, t1) {
                continue;
            }
            if let Some(gpu) = phase.gpu {
                lanes.get_mut(&gpu).unwrap().push((phase.name.to_owned(), phase.t0, t1));
                continue;
            }
            for (at, (ts, gpus)) in snapshots.iter().enumerate() {
                let end = snapshots.get(at + 1).map_or(f64::INFINITY, |next| next.0);
                let (a, b) = (phase.t0.max(*ts), t1.min(end));
                if a < b {
                    for gpu in gpus.iter().collect::<BTreeSet<_>>() {
                        lanes.get_mut(gpu).unwrap().push((phase.name.to_owned(), a, b));
                    }
                }
            }
        }
        for pieces in lanes.values_mut() {
            pieces.sort_by(|a, b| a.1.total_cmp(&b.1));
            if let (Some(start), Some(first)) = (self.start, pieces.first().map(|piece| piece.1))
                && from <= start
                && start < first
                && overlaps(start, first)
            {
                pieces.insert(0, ("initialize".to_owned(), start, first));
            }
        }
        lanes
    }

    fn bucket(&self, time: f64) -> usize {
        let (from, to) = self.window;
        let part = ((time - from) / (to - from) * self.buckets as f64).floor();
        (part.max(0.0) as usize).min(self.buckets - 1)
    }

    /// Number of the phase in each part of each lane.
    fn cells(&self, pieces: &BTreeMap<i64, Vec<(String, f64, f64)>>, palette: &[String]) -> Vec<u8> {
        let idle = ["initialize", "train_wait", "sleep"];
        let mut cells = Vec::new();
        for pieces in pieces.values() {
            for bucket in 0..self.buckets {
                let covers = |piece: &&(String, f64, f64)| {
                    (self.bucket(piece.1)..=self.bucket(piece.2)).contains(&bucket)
                };
                let last = |below: bool| {
                    pieces.iter().rev().filter(covers).find(|piece| idle.contains(&piece.0.as_str()) == below)
                };
                let number =
                    |piece: &(String, f64, f64)| palette.iter().position(|name| *name == piece.0).unwrap();
                cells.push(last(false).or(last(true)).map_or(0, |piece| number(piece) as u8));
            }
        }
        cells
    }

    /// Greatest reading in each part of a lane.
    fn maxima(&self, lane: i64) -> Vec<Option<i32>> {
        let (from, to) = self.window;
        let mut cells = vec![None; self.buckets];
        for &(ts, gpu, util) in &self.readings {
            if gpu == lane && from <= ts && ts <= to {
                let cell = &mut cells[self.bucket(ts)];
                *cell = Some(cell.map_or(util, |greatest: i32| greatest.max(util)));
            }
        }
        cells
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn fast_answers_equal_those_of_the_rules(run in run()) {
        let folder = tempfile::tempdir().unwrap();
        run.write(folder.path());
        let store = Store::open(folder.path(), StoreOptions::default());
        let lanes = LaneIndex::default().lanes(&store).unwrap();
        let all = Selection::all(Arc::clone(&lanes));
        let window = timeline::window(Some(run.window.0), Some(run.window.1)).unwrap();
        let newest = store.time_range().unwrap().unwrap().1;

        let pieces = run.pieces(newest);
        let answer = serde_json::to_value(timeline::phases(&store, &all, &window).unwrap()).unwrap();
        let wanted: Vec<_> = pieces
            .iter()
            .flat_map(|(gpu, pieces)| pieces.iter().map(move |piece| json!([gpu, piece.0, piece.1, piece.2])))
            .collect();
        let got: Vec<_> = answer["phases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|piece| json!([piece["gpu"], piece["name"], piece["t0"], piece["t1"]]))
            .collect();
        prop_assert_eq!(got, wanted);

        let names: BTreeSet<String> = pieces.values().flatten().map(|piece| piece.0.clone()).collect();
        let palette: Vec<String> = [String::new()].into_iter().chain(names).collect();
        let cells = run.cells(&pieces, &palette);
        let heatmap = timeline::heatmap(&store, &all, &window, LaneMetric::Phase, run.buckets).unwrap();
        prop_assert_eq!(heatmap.header.palette.as_ref(), Some(&palette));
        prop_assert_eq!(&heatmap.cells, &cells);

        let maxima: Vec<Vec<Option<i32>>> = (0..LANES).map(|lane| run.maxima(lane)).collect();
        let heatmap = timeline::heatmap(&store, &all, &window, LaneMetric::Util, run.buckets).unwrap();
        let wanted: Vec<u8> = maxima
            .iter()
            .flatten()
            .map(|cell| (f64::from(cell.unwrap_or(0)) / 100.0 * 255.0).min(255.0) as u8)
            .collect();
        prop_assert_eq!(heatmap.cells, wanted);

        let fleet = timeline::fleet(&store, &lanes, &window, run.buckets).unwrap();
        for (number, (_, fractions)) in fleet.composition.0.iter().enumerate() {
            for (bucket, fraction) in fractions.iter().enumerate() {
                let count = cells.iter().skip(bucket).step_by(run.buckets).filter(|cell| usize::from(**cell) == number);
                let wanted = count.count() as f64 / LANES as f64;
                prop_assert!((wanted - fraction).abs() <= 0.5e-4 + 1e-12);
            }
        }
        for bucket in 0..run.buckets {
            let mut values: Vec<i32> = maxima.iter().filter_map(|lane| lane[bucket]).collect();
            values.sort_unstable();
            prop_assert_eq!(fleet.band.min[bucket], values.first().map(|value| f64::from(*value)));
            // Of one, two or three values the middle rank is 0, 0.5 up, 1.
            prop_assert_eq!(fleet.band.p50[bucket], values.get(values.len() / 2).map(|value| f64::from(*value)));
        }

        let series = timeline::gpu(&store, &all, &window, run.points).unwrap();
        for lane in &series.lanes {
            let mut rows: Vec<(f64, i32)> = run.readings.iter().filter(|r| r.1 == lane.gpu).map(|r| (r.0, r.2)).collect();
            rows.retain(|row| run.window.0 <= row.0 && row.0 <= run.window.1);
            rows.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut kept: BTreeSet<usize> = (0..rows.len()).collect();
            if rows.len() > run.points {
                let parts = run.points / 2;
                kept = (0..parts)
                    .flat_map(|part| {
                        let span = part * rows.len() / parts..(part + 1) * rows.len() / parts;
                        let low = span.clone().min_by_key(|row| rows[*row].1).unwrap();
                        [low, span.rev().max_by_key(|row| rows[*row].1).unwrap()]
                    })
                    .collect();
            }
            let wanted: (Vec<f64>, Vec<i32>) = kept.iter().map(|row| rows[*row]).unzip();
            prop_assert_eq!((lane.ts.clone(), lane.util.clone()), wanted);
        }
    }
}
