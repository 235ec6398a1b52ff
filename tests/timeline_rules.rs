//! The rules of the timeline, one small run each.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::sync::Arc;

use miles::telemetry::{Store, StoreOptions, Window};
use miles::timeline::{
    self, Criterion, Heatmap, HeatmapRows, LaneIndex, LaneMetric, Lanes, Selection, TimelineError,
};
use serde_json::{Value, json};
use tempfile::TempDir;

const ALL: Window = Window::ALL;

/// A run of telemetry.
struct Run {
    folder: TempDir,
}

impl Run {
    /// With these lanes in its catalog; none without any.
    fn new(lanes: &[&str]) -> Self {
        let run = Self { folder: tempfile::tempdir().unwrap() };
        let lanes: Vec<String> =
            lanes.iter().map(|lane| format!(r#""{lane}": {{"roles": ["train"]}}"#)).collect();
        if !lanes.is_empty() {
            let catalog = format!(r#"{{"version": 1, "lanes": {{{}}}}}"#, lanes.join(", "));
            fs::write(run.folder.path().join("lane_catalog.json"), catalog).unwrap();
        }
        run
    }

    fn start(self, ts: f64) -> Self {
        fs::write(self.folder.path().join("meta.json"), json!({ "start_ts": ts }).to_string()).unwrap();
        self
    }

    fn lines(self, stream: &str, lines: impl IntoIterator<Item = Value>) -> Self {
        let path = self.folder.path().join(format!("{stream}.jsonl"));
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        for line in lines {
            text += &format!("{line}\n");
        }
        fs::write(path, text).unwrap();
        self
    }

    /// Readings of one lane: time, utilisation, memory, power.
    fn gpu(self, node: &str, gpu: i64, readings: &[(f64, i64, i64, i64)]) -> Self {
        let line = |&(ts, util, mem_mb, power_w): &(f64, i64, i64, i64)| json!({ "ts": ts, "node": node, "gpu": gpu, "util": util, "mem_mb": mem_mb, "power_w": power_w });
        self.lines("gpu_util", readings.iter().map(line))
    }

    /// Phases of a trainer on GPU 0 of `n`, rank 0.
    fn train(self, phases: &[(&str, f64, f64)]) -> Self {
        let line = |&(name, t0, t1): &(&str, f64, f64)| json!({ "name": name, "t0": t0, "t1": t1, "node": "n", "gpus": [0], "rank": 0, "role": "train" });
        self.lines("phases", phases.iter().map(line))
    }

    fn manager(self, name: &str, t0: f64, t1: f64) -> Self {
        let line = json!({ "name": name, "t0": t0, "t1": t1, "node": "d", "gpus": [], "rank": -1, "role": "rollout_manager" });
        self.lines("phases", [line])
    }

    /// A snapshot of engines: address and GPUs.
    fn engines(self, ts: f64, engines: &[(&str, &[(&str, i64)])]) -> Self {
        let engines: Vec<_> =
            engines.iter().map(|(addr, gpus)| json!({ "addr": addr, "gpus": gpus })).collect();
        self.lines("topology", [json!({ "ts": ts, "engines": engines })])
    }

    fn open(&self) -> (Store, Arc<Lanes>) {
        let store = Store::open(self.folder.path(), StoreOptions::default());
        let lanes = LaneIndex::default().lanes(&store).unwrap();
        (store, lanes)
    }

    fn phases(&self, selector: Option<&str>, window: &Window) -> Vec<(String, f64, f64, String)> {
        let (store, lanes) = self.open();
        let selection = Selection::new(lanes, selector).unwrap();
        let answer = serde_json::to_value(timeline::phases(&store, &selection, window).unwrap()).unwrap();
        let piece = |piece: &Value| {
            let lane = format!("{}:{}", piece["node"].as_str().unwrap(), piece["gpu"]);
            let time = |key: &str| piece[key].as_f64().unwrap();
            (piece["name"].as_str().unwrap().to_owned(), time("t0"), time("t1"), lane)
        };
        answer["phases"].as_array().unwrap().iter().map(piece).collect()
    }

    fn heatmap(&self, metric: LaneMetric, window: (f64, f64), buckets: usize) -> Heatmap {
        let (store, lanes) = self.open();
        let window = timeline::window(Some(window.0), Some(window.1)).unwrap();
        timeline::heatmap(&store, &Selection::all(lanes), &window, metric, buckets).unwrap()
    }
}

fn window(t0: f64, t1: f64) -> Window {
    Window { t0: Some(t0), t1: Some(t1) }
}

fn piece(name: &str, t0: f64, t1: f64, lane: &str) -> (String, f64, f64, String) {
    (name.to_owned(), t0, t1, lane.to_owned())
}

#[test]
fn a_phase_that_only_touches_the_window_is_outside_and_none_is_clipped() {
    let run = Run::new(&["n:0"]).train(&[("a", 10.0, 20.0), ("b", 20.0, 30.0), ("c", 30.0, 40.0)]);
    assert_eq!(run.phases(None, &window(20.0, 30.0)), [piece("b", 20.0, 30.0, "n:0")]);
    assert_eq!(run.phases(None, &window(19.0, 30.5)).len(), 3);
    assert_eq!(run.phases(None, &window(12.0, 13.0)), [piece("a", 10.0, 20.0, "n:0")]);
}

#[test]
fn an_open_phase_ends_at_the_newest_time_of_all_data() {
    let run =
        Run::new(&["n:0"]).train(&[("a", 10.0, -1.0), ("b", 12.0, 13.0)]).gpu("n", 0, &[(50.0, 1, 1, 1)]);
    assert_eq!(run.phases(None, &ALL), [piece("a", 10.0, 50.0, "n:0"), piece("b", 12.0, 13.0, "n:0")]);
    assert_eq!(run.phases(None, &window(45.0, 46.0)), [piece("a", 10.0, 50.0, "n:0")]);
    let run = run.train(&[("a", 10.0, 15.0)]);
    assert_eq!(run.phases(None, &ALL).len(), 2, "closed by now");
    assert_eq!(run.phases(None, &window(45.0, 46.0)), []);
}

#[test]
fn the_managers_phase_is_cut_where_the_topology_changes() {
    let run = Run::new(&["n:0", "n:1", "m:0"])
        .engines(30.0, &[("http://n:1", &[("n", 1)])])
        .engines(10.0, &[("http://n:1", &[("n", 0), ("n", 1)]), ("http://n:2", &[("n", 1)])])
        .manager("rollout", 5.0, 35.0);
    assert_eq!(
        run.phases(None, &ALL),
        [
            piece("rollout", 10.0, 30.0, "n:0"),
            piece("rollout", 10.0, 30.0, "n:1"),
            piece("rollout", 30.0, 35.0, "n:1"),
        ],
        "none before the first snapshot, and a shared GPU once"
    );
    assert_eq!(run.phases(Some("gpu:n:0"), &ALL), [piece("rollout", 10.0, 30.0, "n:0")]);
}

#[test]
fn engines_without_gpus_reach_the_lanes_of_their_hosts_if_no_engine_has_any() {
    let run = Run::new(&["n:0", "n:1", "m:0"])
        .engines(10.0, &[("http://n:1", &[])])
        .engines(20.0, &[("http://n:1", &[]), ("http://m:1", &[("m", 0)])])
        .manager("rollout", 10.0, 30.0);
    assert_eq!(
        run.phases(None, &ALL),
        [
            piece("rollout", 20.0, 30.0, "m:0"),
            piece("rollout", 10.0, 20.0, "n:0"),
            piece("rollout", 10.0, 20.0, "n:1"),
        ]
    );
}

#[test]
fn a_lane_initializes_from_the_start_of_the_run_to_its_first_phase() {
    let run = Run::new(&["n:0", "n:1"]).start(5.0).train(&[("a", 10.0, 20.0)]);
    let first = piece("initialize", 5.0, 10.0, "n:0");
    assert_eq!(run.phases(None, &ALL), [first.clone(), piece("a", 10.0, 20.0, "n:0")]);
    assert_eq!(run.phases(None, &window(5.0, 30.0))[0], first);
    assert_eq!(run.phases(None, &window(5.5, 30.0)).len(), 1, "the window does not reach the start");
    assert_eq!(run.phases(None, &window(0.0, 9.0)), [], "a lane whose first phase is later is not known");
    let run = run.train(&[("before", 1.0, 6.0)]);
    assert!(run.phases(None, &ALL).iter().all(|piece| piece.0 != "initialize"), "it was busy before");
}

#[test]
fn a_lane_that_the_catalog_lacks_is_answered_unless_lanes_are_selected() {
    let run = Run::new(&["n:0"]).gpu("n", 0, &[(1.0, 5, 1, 1)]).gpu("a", 9, &[(1.0, 3, 1, 1)]).lines(
        "gpu_processes",
        [json!({ "ts": 1.0, "node": "a", "gpu": 9, "pid": 1, "name": "x", "mem_mb": null })],
    );
    let (store, lanes) = run.open();
    let series = |selector| {
        let selection = Selection::new(Arc::clone(&lanes), selector).unwrap();
        let series = timeline::gpu(&store, &selection, &ALL, 10).unwrap();
        let processes = serde_json::to_value(timeline::processes(&store, &selection, &ALL).unwrap()).unwrap();
        let count = processes["processes"].as_array().unwrap().len();
        (series.lanes.iter().map(|lane| format!("{}:{}", lane.node, lane.gpu)).collect::<Vec<_>>(), count)
    };
    assert_eq!(series(None), (vec!["a:9".to_owned(), "n:0".to_owned()], 1));
    assert_eq!(series(Some("node:n")), (vec!["n:0".to_owned()], 0));
    let outliers = timeline::outliers(&store, &lanes, &ALL, &Criterion::LowestUtil, 16).unwrap().outliers;
    assert_eq!(outliers.iter().map(|lane| lane.score).collect::<Vec<_>>(), [3.0, 5.0]);
    assert_eq!(timeline::fleet(&store, &lanes, &ALL, 2).unwrap().band.min[0], Some(3.0));
}

#[test]
fn readings_at_both_ends_of_the_window_are_inside() {
    let run =
        Run::new(&["n:0"]).gpu("n", 0, &[(1.0, 1, 1, 1), (2.0, 2, 2, 2), (3.0, 3, 3, 3), (4.0, 4, 4, 4)]);
    let (store, lanes) = run.open();
    let series = timeline::gpu(&store, &Selection::all(lanes), &window(2.0, 3.0), 10).unwrap();
    assert_eq!(
        serde_json::to_string(&series).unwrap(),
        r#"{"lanes":{"n:0":{"ts":[2.0,3.0],"util":[2,3],"mem_mb":[2,3],"power_w":[2,3]}}}"#
    );
}

#[test]
fn readings_out_of_order_are_answered_in_order() {
    let run =
        Run::new(&["n:0"]).gpu("n", 0, &[(3.0, 3, 1, 1), (1.0, 1, 1, 1), (3.0, 4, 1, 1), (9.0, 9, 1, 1)]);
    let (store, lanes) = run.open();
    let series = timeline::gpu(&store, &Selection::all(lanes), &window(0.0, 5.0), 10).unwrap();
    assert_eq!((&series.lanes[0].ts, &series.lanes[0].util), (&vec![1.0, 3.0, 3.0], &vec![1, 3, 4]));
    assert_eq!(run.heatmap(LaneMetric::Util, (0.0, 4.0), 2).cells, [2, 10]);
}

#[test]
fn a_heatmap_has_a_row_for_each_selected_lane_with_or_without_data() {
    let run =
        Run::new(&["n:0", "n:1"]).gpu("n", 0, &[(0.0, 50, 200, 10), (5.0, 100, 100, 10), (10.0, 0, 50, 10)]);
    let heatmap = run.heatmap(LaneMetric::Util, (0.0, 10.0), 4);
    assert_eq!(heatmap.cells, [127, 0, 255, 0, 0, 0, 0, 0]);
    assert_eq!(heatmap.header.scale.unwrap().max, 100.0);
    let heatmap = run.heatmap(LaneMetric::MemMb, (0.0, 10.0), 4);
    assert_eq!(heatmap.cells[..4], [255, 0, 127, 63]);
    assert_eq!(heatmap.header.scale.unwrap().max, 200.0);
    let HeatmapRows::Lanes(rows) = heatmap.header.rows else { panic!() };
    assert_eq!(rows.iter().map(|row| (row.gpu, row.index)).collect::<Vec<_>>(), [(0, 0), (1, 1)]);
    assert_eq!(
        run.heatmap(LaneMetric::PowerW, (20.0, 30.0), 4).header.scale.unwrap().max,
        1.0,
        "no readings"
    );
}

#[test]
fn idle_phases_lie_below_the_others_in_a_heatmap() {
    let run = Run::new(&["n:0"]).train(&[("sleep", 4.0, 8.0), ("b", 0.0, 5.0), ("a", 4.5, 4.6)]);
    let heatmap = run.heatmap(LaneMetric::Phase, (0.0, 10.0), 10);
    assert_eq!(heatmap.header.palette.unwrap(), ["", "a", "b", "sleep"]);
    assert_eq!(heatmap.cells, [2, 2, 2, 2, 1, 2, 3, 3, 3, 0]);
}

#[test]
fn more_names_than_a_byte_tells_apart_share_the_last_number() {
    let names: Vec<String> = (0..300).map(|at| format!("p{at:03}")).collect();
    let phases = names.iter().zip(0..).map(|(name, at)| (name.as_str(), f64::from(at), f64::from(at) + 0.5));
    let phases: Vec<_> = phases.collect();
    let heatmap = Run::new(&["n:0"]).train(&phases).heatmap(LaneMetric::Phase, (0.0, 300.0), 300);
    let palette = heatmap.header.palette.unwrap();
    assert_eq!((palette.len(), palette[254].as_str(), palette[255].as_str()), (256, "p253", "(others)"));
    assert_eq!((heatmap.cells[253], heatmap.cells[254], heatmap.cells[299]), (254, 255, 255));
}

#[test]
fn a_fleet_is_fractions_of_lanes_and_values_of_lanes() {
    let lanes: Vec<String> = (0..6).map(|gpu| format!("n:{gpu}")).collect();
    let mut run = Run::new(&lanes.iter().map(String::as_str).collect::<Vec<_>>()).train(&[("a", 0.0, 4.9)]);
    for gpu in 0..6 {
        run = run.gpu("n", gpu, &[(1.0, 10 * gpu, 1, 1)]);
    }
    let (store, lanes) = run.open();
    let fleet = timeline::fleet(&store, &lanes, &window(0.0, 10.0), 2).unwrap();
    let composition = serde_json::to_string(&fleet.composition).unwrap();
    assert_eq!(composition, r#"{"none":[0.8333,1.0],"a":[0.1667,0.0]}"#);
    let band = serde_json::to_string(&fleet.band).unwrap();
    // Of six values the ranks 0.5, 2.5 and 4.5 go up.
    assert_eq!(band, r#"{"p10":[10.0,null],"p50":[30.0,null],"p90":[50.0,null],"min":[0.0,null]}"#);
}

#[test]
fn outliers_are_sorted_by_score_and_count_whole_phases() {
    let run = Run::new(&["n:0", "n:1", "n:2"])
        .gpu("n", 1, &[(1.0, 10, 1, 1), (2.0, 21, 1, 1)])
        .gpu("n", 0, &[(1.0, 16, 1, 1), (2.0, 15, 1, 1)])
        .train(&[("a", 0.0, 4.0), ("a", 10.0, 12.0), ("b", 0.0, 9.0)]);
    let (store, lanes) = run.open();
    let scores = |criterion: &str, window: &Window, top_k| {
        let criterion = criterion.parse().unwrap();
        let found = timeline::outliers(&store, &lanes, window, &criterion, top_k).unwrap().outliers;
        found.iter().map(|lane| (lane.gpu, lane.score)).collect::<Vec<_>>()
    };
    assert_eq!(scores("lowest_util", &ALL, 16), [(0, 15.5), (1, 15.5)], "lanes without readings are none");
    assert_eq!(scores("lowest_util", &window(2.0, 2.5), 1), [(0, 15.0)]);
    assert_eq!(scores("slowest_phase:a", &ALL, 16), [(0, 3.0)]);
    assert_eq!(scores("slowest_phase:a", &window(3.0, 5.0), 16), [(0, 4.0)]);
    assert_eq!(scores("slowest_phase:none", &ALL, 16), []);
}

#[test]
fn arguments_out_of_bounds_are_told_from_broken_data() {
    let run = Run::new(&["n:0"]).gpu("n", 0, &[(1.0, 1, 1, 1)]);
    let (store, lanes) = run.open();
    let all = Selection::all(Arc::clone(&lanes));
    let refused: [Result<(), TimelineError>; 6] = [
        timeline::gpu(&store, &all, &ALL, 1).map(drop),
        timeline::heatmap(&store, &all, &ALL, LaneMetric::Util, 1).map(drop),
        timeline::heatmap(&store, &all, &ALL, LaneMetric::Util, 4001).map(drop),
        timeline::fleet(&store, &lanes, &ALL, 0).map(drop),
        timeline::outliers(&store, &lanes, &ALL, &Criterion::LowestUtil, 0).map(drop),
        timeline::outliers(&store, &lanes, &ALL, &Criterion::LowestUtil, 257).map(drop),
    ];
    for (at, refused) in refused.into_iter().enumerate() {
        assert!(refused.unwrap_err().is_argument(), "{at}");
    }
}

#[test]
fn a_run_without_telemetry_has_empty_answers() {
    let (store, lanes) = Run::new(&[]).open();
    let all = Selection::all(Arc::clone(&lanes));
    let text = |answer: Value| answer.to_string();
    assert_eq!(text(json!(timeline::topology(&store, &lanes))), r#"{"lanes":[],"windows":[]}"#);
    assert_eq!(text(json!(timeline::phases(&store, &all, &ALL).unwrap())), r#"{"phases":[]}"#);
    assert_eq!(text(json!(timeline::gpu(&store, &all, &ALL, 2).unwrap())), r#"{"lanes":{}}"#);
    assert_eq!(text(json!(timeline::processes(&store, &all, &ALL).unwrap())), r#"{"processes":[]}"#);
    let heatmap = timeline::heatmap(&store, &all, &ALL, LaneMetric::Util, 8).unwrap();
    assert_eq!((heatmap.cells.len(), heatmap.header.t0, heatmap.header.t1), (0, 0.0, 0.0));
    let fleet = timeline::fleet(&store, &lanes, &ALL, 2).unwrap();
    assert_eq!((fleet.lanes, fleet.band.p50, fleet.composition.0.len()), (0, vec![None, None], 0));
}

#[test]
fn a_run_of_one_moment_has_a_picture() {
    let run = Run::new(&["n:0"]).gpu("n", 0, &[(7.0, 100, 1, 1)]);
    let (store, lanes) = run.open();
    let heatmap = timeline::heatmap(&store, &Selection::all(lanes), &ALL, LaneMetric::Util, 3).unwrap();
    assert_eq!((heatmap.cells, heatmap.header.t0, heatmap.header.t1), (vec![255, 0, 0], 7.0, 7.0));
}

#[test]
fn lanes_are_found_again_when_a_run_without_a_catalog_grows() {
    let run = Run::new(&[]).gpu("n", 0, &[(1.0, 1, 1, 1)]);
    let store = Store::open(run.folder.path(), StoreOptions::default());
    let index = LaneIndex::default();
    let first = index.lanes(&store).unwrap();
    assert!(Arc::ptr_eq(&first, &index.lanes(&store).unwrap()));
    let run = run.gpu("n", 1, &[(2.0, 1, 1, 1)]);
    store.refresh().unwrap();
    assert_eq!(index.lanes(&store).unwrap().0.len(), 2);
    fs::write(run.folder.path().join("lane_catalog.json"), r#"{"lanes": {"x:0": {}}}"#).unwrap();
    store.refresh().unwrap();
    assert_eq!(index.lanes(&store).unwrap().0[0].node, "x");
}
