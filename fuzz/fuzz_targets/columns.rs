//! A file of a stream, of any bytes, as columns: never a panic, and the rows that a scan of its lines finds.

#![no_main]

use std::cell::RefCell;
use std::fs;
use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use miles::record::{Record, Stream};
use miles::telemetry::{Damage, MISSING, Store, StoreOptions, TelemetryError, Window, scan};

thread_local! {
    static FOLDER: RefCell<tempfile::TempDir> = RefCell::new(tempfile::tempdir().unwrap());
}

fuzz_target!(|data: &[u8]| {
    let Some((first, bytes)) = data.split_first() else { return };
    let streams =
        [Stream::GpuUtil, Stream::EngineSeries, Stream::Phases, Stream::Trajectories, Stream::GpuProcesses];
    let stream = streams[usize::from(*first) % streams.len()];
    FOLDER.with_borrow(|folder| {
        let path = folder.path().join(format!("{stream}.jsonl"));
        for stream in streams {
            let _ = fs::remove_file(folder.path().join(format!("{stream}.jsonl")));
        }
        fs::write(&path, bytes).unwrap();
        let store = Store::open(folder.path(), StoreOptions::default());
        let (mut rows, all) = (Vec::new(), Window::ALL);
        for block in store.gpu(&all).unwrap() {
            for lane in block.lanes() {
                for row in 0..lane.ts.len() {
                    rows.push(format!("{:?} {} {} {}", lane.ts[row], lane.node, lane.gpu, lane.util[row]));
                }
            }
        }
        for block in store.engines(&all).unwrap() {
            for series in block.series() {
                rows.extend(series.ts.iter().map(|ts| format!("{ts:?} {} {}", series.addr, series.metric)));
            }
        }
        for block in store.processes(&all).unwrap() {
            rows.extend(block.rows().map(|row| format!("{:?} {} {} {:?}", row.ts, row.node, row.gpu, row.pid)));
        }
        for block in store.trajectories(&all).unwrap() {
            rows.extend(block.rows().map(|row| format!("{:?} {} {:?}", row.ts, row.sample_index, row.group_index)));
        }
        for row in store.phases(&all).unwrap().rows().filter(|row| row.t1.is_some()) {
            rows.push(format!("{:?} {:?} {} {}", row.t0, row.t1, row.name, row.node));
        }
        let mut scanned = Vec::new();
        let visit = |found: miles::telemetry::Found<'_>| -> Result<_, TelemetryError> {
            // What has no time that can be is damage to a store.
            let possible = found.record.time().is_none_or(|time| (0.0..=1e11).contains(&time));
            scanned.extend(shown(&found.record).filter(|_| possible));
            Ok(ControlFlow::Continue(()))
        };
        scan(folder.path(), stream, &all, &mut Damage::default(), visit).unwrap();
        rows.sort();
        scanned.sort();
        assert_eq!(rows, scanned);
        let _ = (store.time_range().unwrap(), store.engine_metric_names().unwrap(), store.damage());
    });
});

/// The row that a record is, if it has what a row needs.
fn shown(record: &Record<'_>) -> Option<String> {
    match record {
        Record::GpuUtil(r) => {
            let util = r.util.and_then(|util| i32::try_from(util).ok()).unwrap_or(MISSING);
            Some(format!("{:?} {} {} {util}", r.ts?, &**r.node.as_ref()?, r.gpu?))
        }
        Record::EngineSample(r) => {
            let labels = r.labels.is_none_or(|labels| {
                serde_json::from_str::<std::collections::BTreeMap<String, String>>(labels.get()).is_ok()
            });
            let text = format!("{:?} {} {}", r.ts?, &**r.addr.as_ref()?, &**r.metric.as_ref()?);
            labels.then_some(text)
        }
        Record::GpuProcess(r) => Some(format!("{:?} {} {} {:?}", r.ts?, &**r.node.as_ref()?, r.gpu?, r.pid)),
        Record::TrajectoryEvent(r) => {
            r.kind.as_ref()?;
            Some(format!("{:?} {} {:?}", r.ts?, r.sample_index?, r.group_index))
        }
        Record::Phase(r) => {
            r.rank?;
            r.role.as_ref()?;
            let (t0, t1) = (r.t0?, r.t1?);
            let text = format!("{t0:?} {:?} {} {}", Some(t1), &**r.name.as_ref()?, &**r.node.as_ref()?);
            (t1 != -1.0).then_some(text)
        }
        _ => None,
    }
}
