//! Processes on GPUs in order of arrival: 16 bytes a row.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::bytes::{put_count, put_floats, put_int, put_ints, put_text};
use super::group::span;
use super::{Build, Bytes, Columns, Lacks, MISSING, narrow};
use crate::record::{Record, Stream};
use crate::telemetry::shape::{Hole, Holes, Numbers};

/// Rows of `gpu_processes`, in order of arrival.
#[derive(Debug, Default)]
pub struct ProcessBlock {
    processes: Vec<Process>,
    span: Option<(f64, f64)>,
    ts: Vec<f64>,
    process: Vec<u32>,
    mem_mb: Vec<i32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Process {
    node: Box<str>,
    gpu: i64,
    pid: Option<i64>,
    name: Option<Box<str>>,
}

/// A process that held memory on a GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcessRow<'a> {
    /// When, Unix seconds.
    pub ts: f64,
    /// Host.
    pub node: &'a str,
    /// Index of the GPU on its host.
    pub gpu: i64,
    /// Process id as the driver reports it.
    pub pid: Option<i64>,
    /// Name of the process.
    pub name: Option<&'a str>,
    /// Memory held, MiB.
    pub mem_mb: Option<i64>,
}

impl ProcessBlock {
    /// The processes, by number: each as a row without time and memory.
    pub fn processes(&self) -> impl Iterator<Item = ProcessRow<'_>> {
        self.processes.iter().map(|process| ProcessRow {
            ts: f64::NAN,
            node: &process.node,
            gpu: process.gpu,
            pid: process.pid,
            name: process.name.as_deref(),
            mem_mb: None,
        })
    }

    /// Time, number of the process and memory (MiB) of each row, in order of arrival.
    pub fn readings(&self) -> impl Iterator<Item = (f64, u32, Option<i32>)> {
        let rows = self.ts.iter().zip(&self.process).zip(&self.mem_mb);
        rows.map(|((&ts, &process), &mem_mb)| (ts, process, (mem_mb != MISSING).then_some(mem_mb)))
    }

    /// The rows in order of arrival.
    pub fn rows(&self) -> impl Iterator<Item = ProcessRow<'_>> {
        self.ts.iter().zip(&self.process).zip(&self.mem_mb).filter_map(|((&ts, &process), &mem_mb)| {
            let process = self.processes.get(process as usize)?;
            Some(ProcessRow {
                ts,
                node: &process.node,
                gpu: process.gpu,
                pid: process.pid,
                name: process.name.as_deref(),
                mem_mb: (mem_mb != MISSING).then_some(mem_mb.into()),
            })
        })
    }
}

impl Holes for ProcessBlock {
    const HOLES: &'static [Hole] = &[Hole::float("\"ts\":"), Hole::integer("\"mem_mb\":")];
}

impl Columns for ProcessBlock {
    const STREAM: Stream = Stream::GpuProcesses;
    type Builder = ProcessBuilder;

    fn rows(&self) -> usize {
        self.ts.len()
    }

    fn bytes(&self) -> usize {
        let texts = self.processes.iter().map(|process| {
            size_of::<Process>() + process.node.len() + process.name.as_deref().map_or(0, str::len)
        });
        16 * self.ts.len() + texts.sum::<usize>()
    }

    fn span(&self) -> Option<(f64, f64)> {
        self.span
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_count(self.processes.len(), out);
        for process in &self.processes {
            put_text(&process.node, out);
            put_int(process.gpu, out);
            put_int(process.pid.is_some().into(), out);
            put_int(process.pid.unwrap_or_default(), out);
            put_int(process.name.is_some().into(), out);
            put_text(process.name.as_deref().unwrap_or_default(), out);
        }
        put_floats(&self.ts, out);
        put_ints(&self.process.iter().map(|process| process.cast_signed()).collect::<Vec<_>>(), out);
        put_ints(&self.mem_mb, out);
    }

    fn take(bytes: &mut Bytes<'_>) -> Option<Self> {
        let mut processes = Vec::new();
        for _ in 0..bytes.count()? {
            let (node, gpu) = (bytes.text()?.into(), bytes.int()?);
            let (has_pid, pid, has_name, name) = (bytes.int()?, bytes.int()?, bytes.int()?, bytes.text()?);
            let (pid, name) = ((has_pid != 0).then_some(pid), (has_name != 0).then(|| name.into()));
            processes.push(Process { node, gpu, pid, name });
        }
        let (ts, process, mem_mb) = (bytes.floats()?, bytes.ints()?, bytes.ints()?);
        let process = process.into_iter().map(i32::cast_unsigned).collect();
        Some(Self { processes, span: span(&ts), ts, process, mem_mb })
    }
}

#[derive(Debug, Default)]
pub struct ProcessBuilder {
    block: ProcessBlock,
    known: HashMap<Process, u32, RandomState>,
}

impl ProcessBuilder {
    fn process(&mut self, process: Process) -> u32 {
        let next = self.known.len() as u32;
        *self.known.entry(process).or_insert_with_key(|process| {
            self.block.processes.push(process.clone());
            next
        })
    }
}

impl Build<ProcessBlock> for ProcessBuilder {
    fn read(&mut self, record: &Record<'_>) -> Result<(u32, Numbers), Lacks> {
        let Record::GpuProcess(seen) = record else { return Err(Lacks("its stream")) };
        let ts = seen.ts.ok_or(Lacks("ts"))?;
        let process = Process {
            node: seen.node.as_deref().ok_or(Lacks("node"))?.into(),
            gpu: seen.gpu.ok_or(Lacks("gpu"))?,
            pid: seen.pid,
            name: seen.name.as_deref().map(Into::into),
        };
        let mem_mb = seen.mem_mb.unwrap_or(MISSING.into());
        Ok((self.process(process), [ts.to_bits(), mem_mb.cast_unsigned(), 0, 0]))
    }

    fn reserve(&mut self, rows: usize) {
        self.block.ts.reserve(rows);
        self.block.process.reserve(rows);
        self.block.mem_mb.reserve(rows);
    }

    fn push(&mut self, subject: u32, &[ts, mem_mb, ..]: &Numbers) {
        self.block.ts.push(f64::from_bits(ts));
        self.block.process.push(subject);
        self.block.mem_mb.push(narrow(mem_mb.cast_signed()));
    }

    fn absorb(&mut self, block: &ProcessBlock) {
        let map: Vec<u32> = block.processes.iter().map(|process| self.process(process.clone())).collect();
        self.block.ts.extend_from_slice(&block.ts);
        self.block.process.extend(block.process.iter().filter_map(|&old| map.get(old as usize)));
        self.block.mem_mb.extend_from_slice(&block.mem_mb);
    }

    fn finish(mut self) -> ProcessBlock {
        self.block.span = span(&self.block.ts);
        self.block.ts.shrink_to_fit();
        self.block.process.shrink_to_fit();
        self.block.mem_mb.shrink_to_fit();
        self.block
    }
}
