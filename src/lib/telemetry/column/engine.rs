//! Scraped metrics of engines by series: 16 bytes a row.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use super::bytes::{Bytes, put_count, put_floats, put_int, put_text};
use super::group::{Grouping, ascending, order, span};
use super::{Build, Columns, Lacks};
use crate::record::{Record, Stream};
use crate::telemetry::shape::{Hole, Holes, Numbers};

/// Rows of `engine_series`, those of one (address, metric, labels) together.
#[derive(Debug, Default)]
pub struct EngineBlock {
    series: Vec<Head>,
    span: Option<(f64, f64)>,
    ts: Vec<f64>,
    value: Vec<f64>,
}

#[derive(Debug)]
struct Head {
    key: Key,
    start: u32,
    end: u32,
    sorted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    metric: Box<str>,
    addr: Box<str>,
    labels: Vec<(String, String)>,
}

/// The rows of one series in a block, in order of arrival.
#[derive(Debug, Clone, Copy)]
pub struct EngineSlice<'a> {
    /// Address of the engine.
    pub addr: &'a str,
    /// Name of the metric.
    pub metric: &'a str,
    /// Labels by key.
    pub labels: &'a [(String, String)],
    /// When, Unix seconds; finite, equal for everything of one scrape.
    pub ts: &'a [f64],
    /// The values; NaN where the record has none. As long as `ts`.
    pub value: &'a [f64],
    /// Whether `ts` never falls.
    pub sorted: bool,
}

impl EngineBlock {
    /// The series by metric, address and labels.
    pub fn series(&self) -> impl Iterator<Item = EngineSlice<'_>> {
        self.series.iter().map(|head| self.slice(head))
    }

    /// The series of one metric, by address and labels.
    pub fn of_metric(&self, metric: &str) -> impl Iterator<Item = EngineSlice<'_>> {
        let start = self.series.partition_point(|head| *head.key.metric < *metric);
        let from = self.series.get(start..).unwrap_or_default();
        from.iter().take_while(move |head| *head.key.metric == *metric).map(|head| self.slice(head))
    }

    fn slice<'a>(&'a self, head: &'a Head) -> EngineSlice<'a> {
        let rows = head.start as usize..head.end as usize;
        EngineSlice {
            addr: &head.key.addr,
            metric: &head.key.metric,
            labels: &head.key.labels,
            ts: self.ts.get(rows.clone()).unwrap_or_default(),
            value: self.value.get(rows).unwrap_or_default(),
            sorted: head.sorted,
        }
    }
}

impl Holes for EngineBlock {
    const HOLES: &'static [Hole] = &[Hole::float("\"ts\":"), Hole::float("\"value\":")];
}

impl Columns for EngineBlock {
    const STREAM: Stream = Stream::EngineSeries;
    type Builder = EngineBuilder;

    fn rows(&self) -> usize {
        self.ts.len()
    }

    fn bytes(&self) -> usize {
        let texts = |key: &Key| -> usize {
            let labels = key.labels.iter().map(|(name, value)| name.len() + value.len() + 48);
            key.metric.len() + key.addr.len() + labels.sum::<usize>()
        };
        16 * self.ts.len()
            + self.series.iter().map(|head| size_of::<Head>() + texts(&head.key)).sum::<usize>()
    }

    fn span(&self) -> Option<(f64, f64)> {
        self.span
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_count(self.series.len(), out);
        for head in &self.series {
            put_text(&head.key.metric, out);
            put_text(&head.key.addr, out);
            put_count(head.key.labels.len(), out);
            for (name, value) in &head.key.labels {
                put_text(name, out);
                put_text(value, out);
            }
            put_int(head.end.into(), out);
        }
        put_floats(&self.ts, out);
        put_floats(&self.value, out);
    }

    fn take(bytes: &mut Bytes<'_>) -> Option<Self> {
        let mut heads = Vec::new();
        for _ in 0..bytes.count()? {
            let (metric, addr) = (bytes.text()?.into(), bytes.text()?.into());
            let mut labels = Vec::new();
            for _ in 0..bytes.count()? {
                labels.push((bytes.text()?.to_owned(), bytes.text()?.to_owned()));
            }
            heads.push((Key { metric, addr, labels }, u32::try_from(bytes.int()?).ok()?));
        }
        let (ts, value) = (bytes.floats()?, bytes.floats()?);
        let mut start = 0;
        let mut series = Vec::with_capacity(heads.len());
        for (key, end) in heads {
            let sorted = ascending(ts.get(start as usize..end as usize)?);
            series.push(Head { key, start, end, sorted });
            start = end;
        }
        Some(Self { series, span: span(&ts), ts, value })
    }
}

#[derive(Debug, Default)]
pub struct EngineBuilder {
    keys: HashMap<Key, u32, RandomState>,
    series: Vec<u32>,
    ts: Vec<f64>,
    value: Vec<f64>,
}

impl EngineBuilder {
    fn series(&mut self, key: Key) -> u32 {
        let next = self.keys.len() as u32;
        *self.keys.entry(key).or_insert(next)
    }
}

impl Build<EngineBlock> for EngineBuilder {
    fn read(&mut self, record: &Record<'_>) -> Result<(u32, Numbers), Lacks> {
        let Record::EngineSample(sample) = record else { return Err(Lacks("its stream")) };
        let ts = sample.ts.ok_or(Lacks("ts"))?;
        let addr = sample.addr.as_deref().ok_or(Lacks("addr"))?.into();
        let metric = sample.metric.as_deref().ok_or(Lacks("metric"))?.into();
        let labels = match sample.labels {
            None => BTreeMap::new(),
            Some(raw) => serde_json::from_str::<BTreeMap<String, String>>(raw.get())
                .map_err(|_| Lacks("labels that are texts"))?,
        };
        let key = Key { metric, addr, labels: labels.into_iter().collect() };
        let value = sample.value.unwrap_or(f64::NAN);
        Ok((self.series(key), [ts.to_bits(), value.to_bits(), 0, 0]))
    }

    fn reserve(&mut self, rows: usize) {
        self.series.reserve(rows);
        self.ts.reserve(rows);
        self.value.reserve(rows);
    }

    fn push(&mut self, subject: u32, &[ts, value, ..]: &Numbers) {
        self.series.push(subject);
        self.ts.push(f64::from_bits(ts));
        self.value.push(f64::from_bits(value));
    }

    fn absorb(&mut self, block: &EngineBlock) {
        for head in &block.series {
            let subject = self.series(head.key.clone());
            let slice = block.slice(head);
            self.series.extend(std::iter::repeat_n(subject, slice.ts.len()));
            self.ts.extend_from_slice(slice.ts);
            self.value.extend_from_slice(slice.value);
        }
    }

    fn finish(mut self) -> EngineBlock {
        let mut keys: Vec<_> = std::mem::take(&mut self.keys).into_iter().collect();
        keys.sort();
        let order = order(keys.iter().map(|(_, series)| *series));
        self.series
            .iter_mut()
            .for_each(|series| *series = order.get(*series as usize).copied().unwrap_or_default());
        let grouping = Grouping::new(&self.series, keys.len());
        drop(self.series);
        let ts = grouping.column(self.ts);
        let series = keys.into_iter().enumerate().map(|(place, (key, _))| {
            let (start, end) = grouping.range(place);
            let sorted = ascending(ts.get(start as usize..end as usize).unwrap_or_default());
            Head { key, start, end, sorted }
        });
        let series = series.collect();
        EngineBlock { series, span: span(&ts), value: grouping.column(self.value), ts }
    }
}
