//! A made-up step: what the fuzzer chooses of it, and its files. Without twists everything is right.

use std::io;

use arbitrary::Arbitrary;
use miles::pt::Dtype;
use miles::pt::write::{Data, Pickler, save};
use miles::rollout::Computed;

#[derive(Debug, Arbitrary)]
pub struct Plan {
    pub samples: Vec<Sample>,
    ranks: u8,
    /// `cp_size` of the ranks, and whether their files say so.
    context: u8,
    pub silent: bool,
    padded: Option<u8>,
    twists: Vec<Twist>,
    /// Bytes to change: which file, where, to what.
    pub mutations: Vec<(u8, u32, u8)>,
    pub cut: Option<(u8, u32)>,
}

#[derive(Debug, Arbitrary)]
pub struct Sample {
    prompt: u8,
    response: u8,
}

/// One thing that is not as it should be; the first number chooses the sample or shard.
#[derive(Debug, Arbitrary)]
pub enum Twist {
    Column(u8, u8, Column),
    Mask(u8, Column),
    Context(u8, Option<(u8, u8)>),
    Rows(u8, Vec<u8>),
    /// Adds to the response length of a row.
    Lie(u8, u8, i16),
    Padded(u8, Option<u8>),
    RawRewards(u8, Option<u8>),
    /// Replaces what belongs under a key.
    Key(u8, u8, Odd),
    SampleKey(u8, u8, Odd),
}

/// What a shard's file is made from.
pub struct Shard<'a> {
    /// `cp_rank`, `cp_size`, and whether the file says so.
    context: Option<(u8, u8)>,
    says: bool,
    padded: Option<u8>,
    rows: Vec<u8>,
    columns: [&'a Column; 7],
    mask: &'a Column,
    odd: Option<(u8, &'a Odd)>,
    lie: Option<(u8, i16)>,
    raw_rewards: Option<u8>,
}

#[derive(Debug, Arbitrary)]
pub enum Column {
    Right,
    Missing,
    None,
    /// So many values more or less.
    Off(i8),
    Half,
    Odd(Odd),
}

#[derive(Debug, Arbitrary)]
pub enum Odd {
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
pub fn truth(sample: usize, column: usize, position: usize) -> f32 {
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

/// The rollout file.
pub fn rollout(plan: &Plan) -> io::Result<Vec<u8>> {
    save(Vec::new(), "3", |p| {
        p.dict(|p| {
            p.key("rollout_id")?;
            p.int(3)?;
            p.key("samples")?;
            p.list(plan.samples.iter().enumerate(), |p, (i, s)| {
                let odd = plan.twists.iter().find_map(|t| match t {
                    Twist::SampleKey(at, k, o) if usize::from(*at) % plan.samples.len() == i => Some((*k, o)),
                    _ => None,
                });
                p.dict(|p| sample(p, i, s, odd))
            })
        })
    })
}

fn sample(p: &mut Pickler<'_>, i: usize, s: &Sample, odd_key: Option<(u8, &Odd)>) -> io::Result<()> {
    let (prompt, response) = s.lengths();
    let replaced = odd_key.map(|(k, o)| (SAMPLE_KEYS[usize::from(k) % SAMPLE_KEYS.len()], o));
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

/// One rank's file.
pub fn shard(plan: &Plan, rank: usize, s: &Shard<'_>) -> io::Result<Vec<u8>> {
    let of = |row: &u8| usize::from(*row) % plan.samples.len().max(1);
    let rows: Vec<usize> = if plan.samples.is_empty() { Vec::new() } else { s.rows.iter().map(of).collect() };
    let replaced = s.odd.map(|(k, o)| (SHARD_KEYS[usize::from(k) % SHARD_KEYS.len()], o));
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
            if let Some((cp_rank, cp_size)) = s.context.filter(|_| s.says) {
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
    /// What each rank's file is made from.
    pub fn shards(&self) -> Vec<Shard<'_>> {
        let ranks = self.ranks % 4 + 1;
        let size = self.context % ranks + 1;
        let whole = |rank| Shard {
            context: Some((rank % size, size)),
            says: !self.silent,
            padded: self.padded,
            rows: (0..self.samples.len() as u8).collect(),
            columns: [&Column::Right; 7],
            mask: &Column::Right,
            odd: None,
            lie: None,
            raw_rewards: Some(0),
        };
        let mut shards: Vec<Shard<'_>> = (0..ranks).map(whole).collect();
        for twist in &self.twists {
            let at = |i: &u8| usize::from(*i) % usize::from(ranks);
            match twist {
                Twist::Column(i, c, column) => shards[at(i)].columns[usize::from(*c) % 7] = column,
                Twist::Mask(i, column) => shards[at(i)].mask = column,
                Twist::Context(i, context) => shards[at(i)].context = *context,
                Twist::Rows(i, rows) => shards[at(i)].rows = rows.iter().copied().take(8).collect(),
                Twist::Lie(i, row, by) => shards[at(i)].lie = Some((*row, *by)),
                Twist::Padded(i, padded) => shards[at(i)].padded = *padded,
                Twist::RawRewards(i, n) => shards[at(i)].raw_rewards = *n,
                Twist::Key(i, key, odd) => shards[at(i)].odd = Some((*key, odd)),
                Twist::SampleKey(..) => {}
            }
        }
        shards
    }

    /// Whether the files are all as they should be.
    pub fn is_right(&self) -> bool {
        self.twists.is_empty() && self.mutations.is_empty() && self.cut.is_none()
    }

    /// Whether every value that comes out must be the true one: lengths are as they are and every rank
    /// says which slice it holds (or nothing is twisted at all).
    pub fn is_honest(&self) -> bool {
        let harmless = |t: &Twist| match t {
            Twist::Column(_, _, c) | Twist::Mask(_, c) => !matches!(c, Column::Odd(_)),
            Twist::Context(_, context) => context.is_some() && !self.silent,
            Twist::Rows(..) => !self.silent,
            Twist::RawRewards(..) => true,
            _ => false,
        };
        let told = !self.silent || self.twists.is_empty();
        told && self.twists.iter().all(harmless) && self.mutations.is_empty() && self.cut.is_none()
    }
}
