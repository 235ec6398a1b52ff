//! A step made up from the fuzzer's bytes: a rollout file and the shards of up to four ranks, some of it
//! right and some of it odd. Reading answers or refuses; what it answers is never a wrong value.

#![no_main]

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::OnceLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use miles::pt::Dtype;
use miles::pt::write::{Data, Pickler, save};
use miles::rollout::groups::groups;
use miles::rollout::steps::Step;
use miles::rollout::summary::{Row, Summary};
use miles::rollout::tokens::{Sequence, SeriesName};
use miles::rollout::{Batch, Computed, Run, Series, Train};

#[derive(Debug, Arbitrary)]
struct Plan {
    samples: Vec<Sample>,
    shards: Vec<Shard>,
    /// Bytes to change: which file, where, to what.
    mutations: Vec<(u8, u32, u8)>,
    cut: Option<(u8, u32)>,
}

#[derive(Debug, Arbitrary)]
struct Sample {
    prompt: u8,
    response: u8,
    /// Replaces what belongs under a key.
    odd: Option<(u8, Odd)>,
}

#[derive(Debug, Arbitrary)]
struct Shard {
    /// `cp_rank`, `cp_size`.
    context: Option<(u8, u8)>,
    padded: Option<u8>,
    rows: Vec<u8>,
    columns: [Column; 7],
    mask: Column,
    odd: Option<(u8, Odd)>,
    /// Adds to the length of a row.
    lie: Option<(u8, i16)>,
    raw_rewards: Option<u8>,
}

#[derive(Debug, Arbitrary)]
enum Column {
    Right,
    Missing,
    None,
    /// So many values more or less.
    Off(i8),
    Half,
    Odd(Odd),
}

#[derive(Debug, Arbitrary)]
enum Odd {
    Missing,
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    List(Vec<Odd>),
    Dict(Vec<(String, Odd)>),
    Tensor(u8, Vec<u8>),
}

fn odd(p: &mut Pickler<'_>, o: &Odd, depth: u8) -> io::Result<()> {
    match o {
        Odd::Missing | Odd::None => p.none(),
        Odd::Bool(b) => p.bool(*b),
        Odd::Int(i) => p.int(*i),
        Odd::Float(f) => p.float(*f),
        Odd::Text(s) => p.str(s),
        Odd::Ints(v) => p.ints(v.iter().copied()),
        Odd::Floats(v) => p.floats(v.iter().copied()),
        Odd::List(_) | Odd::Dict(_) if depth > 8 => p.none(),
        Odd::List(v) => p.list(v, |p, o| odd(p, o, depth + 1)),
        Odd::Dict(v) => p.dict(|p| {
            v.iter().try_for_each(|(k, o)| {
                p.key(k)?;
                odd(p, o, depth + 1)
            })
        }),
        Odd::Tensor(dtype, bytes) => {
            let dtypes =
                [Dtype::F32, Dtype::I32, Dtype::I64, Dtype::Bool, Dtype::Bf16, Dtype::C64, Dtype::U8];
            let dtype = dtypes[usize::from(*dtype) % dtypes.len()];
            let n = bytes.len() as u64 / dtype.size();
            let bytes = bytes[..(n * dtype.size()) as usize].to_vec();
            p.tensor(Data { dtype, shape: vec![n], bytes })
        }
    }
}

impl Sample {
    fn lengths(&self) -> (usize, usize) {
        (usize::from(self.prompt % 24), usize::from(self.response % 24))
    }
}

/// The value of a column of a sample at a response position: every one different.
fn truth(sample: usize, column: usize, position: usize) -> f32 {
    -(1.0 + sample as f32 * 1000.0 + column as f32 * 100.0 + position as f32)
}

/// The response positions a context rank holds, chunk by chunk as the definition says it.
fn held(prompt: usize, response: usize, padded: usize, rank: usize, size: usize) -> Vec<usize> {
    let total = prompt + response;
    let chunk = padded.div_ceil(2 * size);
    let mut out = Vec::new();
    for k in [rank, 2 * size - 1 - rank] {
        for i in chunk * k..chunk * (k + 1) {
            if i + 1 >= prompt.max(1) && i + 1 < total {
                out.push(i + 1 - prompt.max(1));
            }
        }
    }
    out.retain(|&r| r < response);
    out
}

const SAMPLE_KEYS: [&str; 12] = [
    "index",
    "group_index",
    "tokens",
    "response_length",
    "loss_mask",
    "rollout_log_probs",
    "reward",
    "status",
    "weight_versions",
    "prompt",
    "spec_info",
    "metadata",
];
const SHARD_KEYS: [&str; 8] = [
    "sample_indices",
    "response_lengths",
    "total_lengths",
    "rewards",
    "truncated",
    "raw_reward",
    "max_seq_lens",
    "rollout_data",
];

fn rollout(plan: &Plan) -> io::Result<Vec<u8>> {
    save(Vec::new(), "3", |p| {
        p.dict(|p| {
            p.key("rollout_id")?;
            p.int(3)?;
            p.key("samples")?;
            p.list(plan.samples.iter().enumerate(), |p, (i, s)| p.dict(|p| sample(p, i, s)))
        })
    })
}

fn sample(p: &mut Pickler<'_>, i: usize, s: &Sample) -> io::Result<()> {
    let (prompt, response) = s.lengths();
    let replaced = s.odd.as_ref().map(|(k, o)| (SAMPLE_KEYS[usize::from(*k) % SAMPLE_KEYS.len()], o));
    for key in SAMPLE_KEYS {
        if let Some((_, o)) = replaced.filter(|(k, _)| *k == key) {
            if !matches!(o, Odd::Missing) {
                p.key(key)?;
                odd(p, o, 0)?;
            }
            continue;
        }
        p.key(key)?;
        match key {
            "index" => p.int(i as i64)?,
            "group_index" => p.int(i as i64 / 2)?,
            "tokens" => p.ints((0..prompt + response).map(|t| t as i64 * 700))?,
            "response_length" => p.int(response as i64)?,
            "loss_mask" => p.ints((0..response).map(|t| t as i64 % 2))?,
            "rollout_log_probs" => {
                p.floats((0..response).map(|r| f64::from(truth(i, Computed::RolloutLogProbs as usize, r))))?;
            }
            "reward" => p.float(i as f64)?,
            "status" => p.str("completed")?,
            "weight_versions" => p.list(["1", "2"], |p, v| p.str(v))?,
            _ => p.none()?,
        }
    }
    Ok(())
}

fn shard(plan: &Plan, rank: usize, s: &Shard) -> io::Result<Vec<u8>> {
    let of = |row: &u8| usize::from(*row) % plan.samples.len().max(1);
    let rows: Vec<usize> = if plan.samples.is_empty() { Vec::new() } else { s.rows.iter().map(of).collect() };
    let replaced = s.odd.as_ref().map(|(k, o)| (SHARD_KEYS[usize::from(*k) % SHARD_KEYS.len()], o));
    let lie = |row: usize, n: i64| match s.lie {
        Some((at, by)) if usize::from(at) == row => n + i64::from(by),
        _ => n,
    };
    let lengths = |i: usize| plan.samples[i].lengths();
    save(Vec::new(), "3_0", |p| {
        p.dict(|p| {
            p.key("rollout_id")?;
            p.int(3)?;
            p.key("rank")?;
            p.int(rank as i64)?;
            if let Some((cp_rank, cp_size)) = s.context {
                p.key("cp_rank")?;
                p.int(i64::from(cp_rank % 5))?;
                p.key("cp_size")?;
                p.int(i64::from(cp_size % 5))?;
            }
            p.key("qkv_format")?;
            p.str(if s.padded.is_some() { "bshd" } else { "thd" })?;
            p.key("rollout_data")?;
            if let Some((_, o)) = replaced.filter(|(k, _)| *k == "rollout_data") {
                return odd(p, o, 0);
            }
            p.dict(|p| {
                for key in &SHARD_KEYS[..7] {
                    if let Some((_, o)) = replaced.filter(|(k, _)| k == key) {
                        if !matches!(o, Odd::Missing) {
                            p.key(key)?;
                            odd(p, o, 0)?;
                        }
                        continue;
                    }
                    let mut ints = |f: &dyn Fn(usize, usize) -> i64| {
                        p.key(key)?;
                        p.ints(rows.iter().enumerate().map(|(row, &i)| f(row, i)))
                    };
                    match *key {
                        "sample_indices" => ints(&|_, i| i as i64)?,
                        "response_lengths" => ints(&|row, i| lie(row, lengths(i).1 as i64))?,
                        "total_lengths" => ints(&|_, i| (lengths(i).0 + lengths(i).1) as i64)?,
                        "rewards" => ints(&|_, i| i as i64)?,
                        "truncated" => ints(&|_, i| i as i64 % 2)?,
                        "max_seq_lens" => {
                            if let Some(extra) = s.padded {
                                let total = |i| (lengths(i).0 + lengths(i).1) as i64;
                                ints(&|_, i| total(i) + i64::from(extra % 16))?;
                            }
                        }
                        _ => {
                            if let Some(n) = s.raw_rewards {
                                let n = if n < 200 { plan.samples.len() } else { usize::from(n - 200) };
                                p.key(key)?;
                                p.floats((0..n).map(|i| i as f64))?;
                            }
                        }
                    }
                }
                for (c, column) in s.columns.iter().enumerate() {
                    let values = |i: usize| {
                        let (prompt, response) = lengths(i);
                        let padded = prompt + response + s.padded.map_or(0, |extra| usize::from(extra % 16));
                        match s.context.map(|(r, n)| (usize::from(r % 5), usize::from(n % 5))) {
                            Some((r, n)) if n > 1 && r < n => held(prompt, response, padded, r, n),
                            _ => (0..response).collect(),
                        }
                        .into_iter()
                        .map(|r| truth(i, c, r))
                        .collect::<Vec<f32>>()
                    };
                    tensors(p, Computed::ALL[c].key(), column, &rows, &|i| values(i))?;
                }
                let ones = |i: usize| (0..lengths(i).1).map(|r| (r % 3 != 1) as i32 as f32).collect();
                tensors(p, "loss_masks", &s.mask, &rows, &ones)
            })
        })
    })
}

fn tensors(
    p: &mut Pickler<'_>,
    key: &str,
    column: &Column,
    rows: &[usize],
    values: &dyn Fn(usize) -> Vec<f32>,
) -> io::Result<()> {
    if matches!(column, Column::Missing) {
        return Ok(());
    }
    p.key(key)?;
    match column {
        Column::None => return p.none(),
        Column::Odd(o) => return odd(p, o, 0),
        _ => {}
    }
    let rows = if matches!(column, Column::Half) { &rows[..rows.len() / 2] } else { rows };
    p.list(rows, |p, &i| {
        let mut v = values(i);
        if let Column::Off(by) = column {
            // A value that belongs nowhere.
            v.resize(v.len().saturating_add_signed(isize::from(*by)), 77777.0);
        }
        if key == "loss_masks" {
            return p.tensor(Data::i32(v.iter().map(|&x| x as i32)));
        }
        p.tensor(Data::f32(&v))
    })
}

impl Plan {
    /// Whether every value that comes out must be the true one: lengths are as they are and every rank
    /// says which slice it holds.
    fn is_plain(&self) -> bool {
        let plain = |s: &Shard| {
            let columns = s.columns.iter().chain([&s.mask]);
            s.context.is_some()
                && s.lie.is_none()
                && s.odd.is_none()
                && !columns.into_iter().any(|c| matches!(c, Column::Odd(_)))
        };
        // Ranks that pad differently contradict each other in a way that lengths do not show.
        let padded = |s: &Shard| s.padded.map(|extra| extra % 16).unwrap_or(0);
        self.shards.iter().all(plain)
            && self.shards.windows(2).all(|w| padded(&w[0]) == padded(&w[1]))
            && self.samples.iter().all(|s| s.odd.is_none())
            && self.mutations.is_empty()
            && self.cut.is_none()
    }
}

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
    plan.shards.truncate(4);
    plan.shards.iter_mut().for_each(|s| s.rows.truncate(8));

    let mut files = vec![(dir.join("rollout_data/3.pt"), rollout(&plan).expect("a rollout file"))];
    for (rank, s) in plan.shards.iter().enumerate() {
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
    for rank in plan.shards.len()..4 {
        let _ = std::fs::remove_file(dir.join(format!("train_data/3_{rank}.pt")));
    }
    read(&plan, dir);
});

fn read(plan: &Plan, dir: &PathBuf) {
    let run = Run::open(dir).expect("a run directory");
    let step = run.all().next().expect("a step").expect("files of the step");
    assert_eq!(step.train.len(), plan.shards.len());
    let plain = plan.is_plain();

    match Summary::read(&step) {
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
    for index in indices.into_iter().take(8) {
        let Ok(sequence) = Sequence::read(&run, &step, index) else { continue };
        let response = sequence.total_len() - sequence.prompt_len;
        for (&c, &name) in &columns {
            for position in 0..response + 2 {
                let value = sequence.value(name, position);
                assert!(position < response || value.is_none());
                if let (true, Some(v)) = (plain, value) {
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
