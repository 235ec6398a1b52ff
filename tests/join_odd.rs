//! Steps whose files lie or contradict each other: the join says so and does not fall over.

#![allow(missing_docs)]
#![allow(clippy::unwrap_used)] // helpers of tests are tests too

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use miles::pt::write::{Data, Pickler, save};
use miles::rollout::summary::Summary;
use miles::rollout::{Batch, Error, Run};

#[path = "support/archive.rs"]
mod archive;

fn write(path: &Path, value: impl FnOnce(&mut Pickler<'_>) -> io::Result<()>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, save(Vec::new(), "archive", value).unwrap()).unwrap();
}

/// A rollout file whose samples have the indices 0 to `n` and nothing else.
fn write_rollout(dir: &Path, n: i64) {
    write(&dir.join("rollout_data/3.pt"), |p| {
        p.dict(|p| {
            p.key("samples")?;
            p.list(0..n, |p, i| {
                p.dict(|p| {
                    p.key("index")?;
                    p.int(i)
                })
            })
        })
    });
}

/// A shard with one row, the sample 0.
fn write_shard(dir: &Path, rank: i64, context: Option<(i64, i64)>, lengths: (i64, i64), log_probs: &[f32]) {
    write(&dir.join(format!("train_data/3_{rank}.pt")), |p| {
        p.dict(|p| {
            if let Some((cp_rank, cp_size)) = context {
                p.key("cp_rank")?;
                p.int(cp_rank)?;
                p.key("cp_size")?;
                p.int(cp_size)?;
            }
            p.key("rollout_data")?;
            p.dict(|p| {
                for (key, value) in
                    [("sample_indices", 0), ("response_lengths", lengths.0), ("total_lengths", lengths.1)]
                {
                    p.key(key)?;
                    p.ints([value])?;
                }
                for key in ["log_probs", "rollout_log_probs"] {
                    p.key(key)?;
                    p.list([log_probs], |p, v| p.tensor(Data::f32(v)))?;
                }
                Ok(())
            })
        })
    });
}

fn summary(dir: &Path) -> Result<Summary, Error> {
    let run = Run::open(dir)?;
    let step = run.all().next().unwrap()?;
    Summary::read(&step)
}

#[test]
fn a_response_length_beyond_any_memory_is_only_a_column_that_cannot_be_placed() {
    let huge = (i64::MAX / 2, i64::MAX / 2 + 5);
    for context in [[Some((0, 2)), Some((1, 2))], [None, None], [Some((0, i64::MAX)), Some((1, i64::MAX))]] {
        let dir = tempfile::tempdir().unwrap();
        write_rollout(dir.path(), 1);
        write_shard(dir.path(), 0, context[0], huge, &[-1.0, -2.0]);
        write_shard(dir.path(), 1, context[1], huge, &[-3.0]);
        let rows = summary(dir.path()).unwrap().rows;
        let train = rows[0].train.as_ref().unwrap();
        assert!(train.alignment_failed && train.mean_abs_lp_diff.is_none(), "{train:?}");
    }
}

#[test]
fn samples_that_are_no_dicts_are_no_rollout_file() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("rollout_data/3.pt"), |p| {
        p.dict(|p| {
            p.key("samples")?;
            p.ints([1, 2, 3])
        })
    });
    assert!(matches!(summary(dir.path()), Err(Error::Inconsistent { .. })));
}

#[test]
fn weight_versions_by_the_hundred_thousand_are_read_in_one_pass() {
    const N: usize = 200_000;
    let mut pickle = b"}X\x07\x00\x00\x00samples]}X\x0f\x00\x00\x00weight_versions]".to_vec();
    (0..N).for_each(|_| pickle.extend_from_slice(b"K\x07a"));
    pickle.extend_from_slice(b"sas.");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("3.pt");
    fs::write(&path, archive::around(&pickle, b"little")).unwrap();
    let batch = Batch::open(&path).unwrap();
    let start = Instant::now();
    let versions = batch.samples().next().unwrap().weight_versions();
    assert_eq!((versions.len(), versions[N - 1].as_str()), (N, "7"));
    assert!(start.elapsed() < Duration::from_secs(5), "took {:?}", start.elapsed());
}

#[test]
fn empty_slices_that_fit_two_context_sizes_place_nothing() {
    // An old dump of four context ranks, two of which hold nothing of sample 2: three ranks fit its widths too
    // and would put the first token last.
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/steps/empty_slices");
    let run = miles::rollout::Run::open(dir).unwrap();
    let step = run.step(3, false).unwrap();
    let sequence = miles::rollout::tokens::Sequence::read(&run, &step, 2).unwrap();
    assert!(sequence.alignment_failed);
    assert_eq!(sequence.value(miles::rollout::tokens::SeriesName::TrainLogProbs, 0), None);
}
