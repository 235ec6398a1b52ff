//! The latest record of each GPU, engine series and logged metric, for whoever asks over HTTP.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use super::line::Ready;
use crate::record::{Record, Stream, decode, entries};

/// A GPU or engine that was silent for so long is not told of any more: its last value would look alive.
const SILENT: Duration = Duration::from_secs(300);

/// Series that are kept. A scrape of more is of no use to anybody.
const MOST: usize = 50_000;

/// The latest records.
#[derive(Debug)]
pub(super) struct Latest {
    /// Places in [`Stream::ALL`] of the streams that are looked at.
    gpu_util: Option<usize>,
    engine_series: Option<usize>,
    data_buffer: Option<usize>,
    metrics: Option<usize>,
    /// By what says which series it is. The two streams that have series spell it differently.
    series: HashMap<Box<[u8]>, Entry, foldhash::fast::RandomState>,
    queued: Option<i64>,
    logged: BTreeMap<String, f64>,
}

#[derive(Debug)]
struct Entry {
    stream: Stream,
    /// The line behind its opening brace.
    body: Vec<u8>,
    at: Instant,
}

/// One reading of a GPU.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gpu {
    pub node: String,
    pub gpu: i64,
    pub util: i64,
    pub mem_mb: i64,
    pub power_w: i64,
}

/// One value of an engine.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub metric: String,
    pub addr: String,
    pub labels: Vec<(String, String)>,
    pub value: f64,
}

/// The latest values at one time, each kind sorted.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Values {
    pub gpus: Vec<Gpu>,
    pub samples: Vec<Sample>,
    pub queued: Option<i64>,
    pub logged: Vec<(String, f64)>,
}

impl Latest {
    pub(super) fn new() -> Self {
        let place = |wanted| Stream::ALL.into_iter().position(|stream| stream == wanted);
        Self {
            gpu_util: place(Stream::GpuUtil),
            engine_series: place(Stream::EngineSeries),
            data_buffer: place(Stream::DataBuffer),
            metrics: place(Stream::Metrics),
            series: HashMap::default(),
            queued: None,
            logged: BTreeMap::new(),
        }
    }

    /// Takes in a record.
    #[inline]
    pub(super) fn see(&mut self, ready: &Ready<'_>) {
        let at = Some(ready.at);
        let stream = if at == self.gpu_util {
            Stream::GpuUtil
        } else if at == self.engine_series {
            Stream::EngineSeries
        } else if at == self.data_buffer {
            return self.read(Stream::DataBuffer, ready.body);
        } else if at == self.metrics {
            return self.read(Stream::Metrics, ready.body);
        } else {
            return;
        };
        let now = Instant::now();
        // A line with escapes is its own series, which is right for all but its time and value: rare enough.
        let key = ready.series.unwrap_or(ready.body);
        if let Some(entry) = self.series.get_mut(key) {
            entry.body.clear();
            entry.body.extend_from_slice(ready.body);
            entry.at = now;
        } else if self.series.len() < MOST {
            let entry = Entry { stream, body: ready.body.to_vec(), at: now };
            self.series.insert(key.into(), entry);
        }
    }

    fn read(&mut self, stream: Stream, body: &[u8]) {
        let (line, mut scratch) = (line(body), String::new());
        let Ok(Some(decoded)) = decode(stream, &line, &mut scratch) else { return };
        match decoded.record {
            Record::DataBuffer(record) => self.queued = record.length,
            Record::Metrics(record) => {
                let Some(metrics) = record.metrics.and_then(|raw| entries(raw.get()).ok()) else { return };
                for (name, value) in metrics {
                    let value = match value.get() {
                        "true" => Some(1.0),
                        "false" => Some(0.0),
                        text => text.parse::<f64>().ok().filter(|value| value.is_finite()),
                    };
                    let room = self.logged.len() < MOST || self.logged.contains_key(&*name);
                    if let Some(value) = value.filter(|_| room) {
                        self.logged.insert(name.to_string(), value);
                    }
                }
            }
            _ => {}
        }
    }

    /// What is known now.
    pub(super) fn values(&mut self) -> Values {
        let now = Instant::now();
        self.series.retain(|_, entry| now.duration_since(entry.at) < SILENT);
        let mut values = Values {
            queued: self.queued,
            logged: self.logged.iter().map(|(name, value)| (name.clone(), *value)).collect(),
            ..Values::default()
        };
        let mut entries: Vec<&Entry> = self.series.values().collect();
        entries.sort_by_key(|entry| entry.at);
        let (mut gpus, mut samples) = (BTreeMap::new(), BTreeMap::new());
        for entry in entries {
            let (line, mut scratch) = (line(&entry.body), String::new());
            match decode(entry.stream, &line, &mut scratch) {
                Ok(Some(decoded)) => match decoded.record {
                    Record::GpuUtil(record) => {
                        if let Some(gpu) = gpu(&record) {
                            gpus.insert((gpu.node.clone(), gpu.gpu), gpu);
                        }
                    }
                    Record::EngineSample(record) => {
                        if let Some(sample) = sample(&record) {
                            let key = (sample.metric.clone(), sample.addr.clone(), sample.labels.clone());
                            samples.insert(key, sample);
                        }
                    }
                    _ => {}
                },
                _ => continue,
            }
        }
        values.gpus = gpus.into_values().collect();
        values.samples = samples.into_values().collect();
        values
    }
}

fn line(body: &[u8]) -> Vec<u8> {
    [b"{", body].concat()
}

fn gpu(record: &crate::record::GpuUtil<'_>) -> Option<Gpu> {
    Some(Gpu {
        node: record.node.as_deref()?.to_owned(),
        gpu: record.gpu?,
        util: record.util?,
        mem_mb: record.mem_mb?,
        power_w: record.power_w?,
    })
}

fn sample(record: &crate::record::EngineSample<'_>) -> Option<Sample> {
    let labels = entries(record.labels?.get()).ok()?;
    let labels = labels.iter().filter_map(|(name, value)| {
        Some((name.to_string(), serde_json::from_str::<String>(value.get()).ok()?))
    });
    Some(Sample {
        metric: record.metric.as_deref()?.to_owned(),
        addr: record.addr.as_deref()?.to_owned(),
        labels: labels.collect(),
        value: record.value?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::line::{Read, Reader};

    fn values(lines: &[&str]) -> Values {
        let (mut reader, mut latest) = (Reader::new(), Latest::new());
        for line in lines {
            let Ok(Read::Record(ready)) = reader.read(line.as_bytes()) else { panic!("{line}") };
            latest.see(&ready);
        }
        latest.values()
    }

    #[test]
    fn the_last_record_of_each_series_counts() {
        let values = values(&[
            r#"{"stream":"gpu_util","ts":1,"node":"n","gpu":3,"util":20,"mem_mb":30000,"power_w":300}"#,
            r#"{"stream":"gpu_util","ts":1,"node":"n","gpu":2,"util":21,"mem_mb":30000,"power_w":300}"#,
            r#"{"stream":"gpu_util","ts":2,"node":"n","gpu":3,"util":40,"mem_mb":30001,"power_w":301}"#,
            r#"{"stream":"engine_series","ts":1,"addr":"a","metric":"m","labels":{"dp_rank":"0"},"value":1.5}"#,
            r#"{"stream":"engine_series","ts":2,"addr":"a","metric":"m","labels":{"dp_rank":"0"},"value":2.5}"#,
            r#"{"stream":"engine_series","ts":1,"addr":"\u0061","metric":"m","labels":{"dp_rank":"1"},"value":4}"#,
            r#"{"stream":"engine_series","ts":2,"addr":"\u0061","metric":"m","labels":{"dp_rank":"1"},"value":5}"#,
            r#"{"stream":"data_buffer","ts":1,"length":7}"#,
            r#"{"stream":"metrics","ts":1,"step_key":"s","step":1,"metrics":{"a/b":1.5,"c":true,"d":"x"}}"#,
            r#"{"stream":"metrics","ts":2,"step_key":"t","step":1,"metrics":{"a/b":2}}"#,
        ]);
        let gpus: Vec<_> = values.gpus.iter().map(|gpu| (gpu.gpu, gpu.util, gpu.mem_mb)).collect();
        assert_eq!(gpus, [(2, 21, 30000), (3, 40, 30001)]);
        let samples: Vec<_> = values.samples.iter().map(|s| (s.addr.as_str(), s.value)).collect();
        assert_eq!(samples, [("a", 2.5), ("a", 5.0)]);
        assert_eq!(values.queued, Some(7));
        assert_eq!(values.logged, [("a/b".to_owned(), 2.0), ("c".to_owned(), 1.0)]);
    }
}
