//! A step made up from the fuzzer's bytes: a rollout file and the shards of up to four ranks, some of it
//! right and some of it odd. Reading answers or refuses; what it answers is never a wrong value.

#![no_main]

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use miles::rollout::groups::groups;
use miles::rollout::steps::Step;
use miles::rollout::summary::{Row, Summary};
use miles::rollout::tokens::{Sequence, SeriesName};
use miles::rollout::{Batch, Computed, Run, Series, Train};

mod plan;

use plan::{Plan, rollout, shard, truth};

fn dir() -> &'static PathBuf {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        let base =
            if std::path::Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
        let dir = base.join(format!("miles-fuzz-{}", std::process::id()));
        for folder in ["rollout_data", "train_data"] {
            std::fs::create_dir_all(dir.join(folder)).expect("a folder for the step's files");
        }
        dir
    })
}

fuzz_target!(|plan: Plan| {
    let (mut plan, dir) = (plan, dir());
    plan.samples.truncate(8);
    let shards = plan.shards();

    let mut files = vec![(dir.join("rollout_data/3.pt"), rollout(&plan).expect("a rollout file"))];
    for (rank, s) in shards.iter().enumerate() {
        files.push((dir.join(format!("train_data/3_{rank}.pt")), shard(&plan, rank, s).expect("a shard")));
    }
    let n = files.len();
    for &(file, at, byte) in &plan.mutations {
        let bytes = &mut files[usize::from(file) % n].1;
        let at = at as usize % bytes.len();
        bytes[at] = byte;
    }
    if let Some((file, at)) = plan.cut {
        let bytes = &mut files[usize::from(file) % n].1;
        bytes.truncate(at as usize % bytes.len());
    }
    for (path, bytes) in &files {
        let mut file = std::fs::File::create(path).expect("a file");
        file.write_all(bytes).expect("bytes of a file");
    }
    for rank in shards.len()..4 {
        let _ = std::fs::remove_file(dir.join(format!("train_data/3_{rank}.pt")));
    }
    read(&plan, shards.len(), dir);
});

fn read(plan: &Plan, ranks: usize, dir: &PathBuf) {
    let run = Run::open(dir).expect("a run directory");
    let step = run.all().next().expect("a step").expect("files of the step");
    assert_eq!(step.train.len(), ranks);
    let (honest, right) = (plan.is_honest(), plan.is_right());

    match Summary::read(&step) {
        Err(e) if right => panic!("{e}"),
        Err(e) => assert!(!e.to_string().contains('\n') && e.hint().is_none_or(|h| !h.is_empty()), "{e}"),
        Ok(summary) => {
            let all = groups(&summary.rows, false);
            assert!(all.iter().map(|g| g.n).sum::<i64>() <= summary.rows.len() as i64);
            all.iter().for_each(|g| drop(g.cells()));
            assert_eq!(Step::of(&summary).n_samples, summary.rows.len() as i64);
            assert!(summary.joined() <= summary.rows.len() && summary.unplaced() <= summary.joined());
            for row in &summary.rows {
                // What the cache keeps of a row is the row.
                let again = Row::from_cells(&row.cells()).expect("a row from its own cells");
                assert_eq!(format!("{:?}", again.cells()), format!("{:?}", row.cells()));
            }
        }
    }
    if let Ok(train) = Train::open(&step) {
        for row in train.rows() {
            if let Ok(Some(mask)) = row.mask() {
                assert_eq!(mask.len(), row.response_length());
            }
            let Ok(columns) = row.columns() else { continue };
            for column in Computed::ALL {
                if let Ok(Series::Values(v)) = columns.get(column) {
                    assert_eq!(v.len(), row.response_length());
                }
            }
        }
    }
    let indices: Vec<i64> = match Batch::open(&step.rollout) {
        Ok(batch) => batch.samples().filter_map(|s| s.index()).collect(),
        Err(_) => (0..2).collect(),
    };
    let columns: HashMap<usize, SeriesName> = [
        SeriesName::TrainLogProbs,
        SeriesName::RolloutLogProbs,
        SeriesName::RefLogProbs,
        SeriesName::Entropy,
        SeriesName::RefEntropy,
        SeriesName::Advantages,
        SeriesName::Returns,
    ]
    .into_iter()
    .enumerate()
    .collect();
    for index in indices.into_iter().take(3) {
        let Ok(sequence) = Sequence::read(&run, &step, index) else { continue };
        let response = sequence.total_len() - sequence.prompt_len;
        if right && !plan.silent && sequence.prompt_len > 0 {
            assert!(sequence.has_train && !sequence.alignment_failed);
            let scored = (0..response).filter(|r| r % 3 != 1).count();
            let found =
                (0..response).filter(|&r| sequence.value(SeriesName::Advantages, r).is_some()).count();
            assert_eq!(found, scored);
        }
        for (&c, &name) in &columns {
            for position in 0..response + 2 {
                let value = sequence.value(name, position);
                assert!(position < response || value.is_none());
                if let (true, Some(v)) = (honest, value) {
                    assert_eq!(v, truth(index as usize, c, position), "{name:?} of {index} at {position}");
                }
            }
        }
        let _ = (sequence.window(Some(-5), Some(3)), sequence.window(Some(i64::MIN), Some(i64::MAX)));
        if let Ok(w) = sequence.window(None, None) {
            assert_eq!((w.response_offset(), w.response()), (sequence.prompt_len, 0..response));
        }
    }
}
