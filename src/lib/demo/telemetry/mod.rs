//! The telemetry of the demo run: every stream, for any span of time.
//!
//! All values follow from the settings and the time that is asked about (`timeline.rs` has the stories), so
//! hours are written in parallel, in little memory, and a run that follows the clock appends what has
//! happened since it last looked.

mod activity;
mod clock;
mod cluster;
mod documents;
mod engines;
mod events;
mod gpu;
mod line;
mod load;
mod metrics;
mod phases;
mod timeline;
mod trajectories;

use std::io::{self, Write};
use std::ops::Range;

use self::cluster::Cluster;
use self::load::Work;
use self::timeline::Timeline;
use super::Settings;
use super::random::{Purpose, Random};
use crate::record::{Layout, Stream};

pub(super) use self::clock::{Ms, now};
pub(super) use self::timeline::StepPlan;

/// A run's telemetry.
#[derive(Debug)]
pub(super) struct Telemetry {
    settings: Settings,
    cluster: Cluster,
    timeline: Timeline,
    work: Work,
    /// Names the run among those with other seeds.
    key: u64,
}

/// A file of a stream, and the span of time that it has.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) stream: Stream,
    pub(super) span: Range<Ms>,
}

impl Part {
    /// Path in the run directory.
    pub(super) fn name(&self) -> String {
        match self.stream.layout() {
            Layout::Flat => format!("dashboard/{}.jsonl", self.stream),
            Layout::Hourly => {
                format!("dashboard/{}/{}.jsonl", self.stream, clock::hour_name(self.span.start))
            }
        }
    }
}

impl Telemetry {
    /// The run that begins at the demo's epoch and hangs in the end.
    pub(super) fn finished(settings: &Settings) -> Self {
        Self::new(settings, Timeline::new(settings, clock::EPOCH, false))
    }

    /// The run whose planned steps end at `now`, and which goes on.
    pub(super) fn running(settings: &Settings, now: Ms) -> Self {
        let start = now - Ms::from(settings.minutes) * clock::MINUTE;
        let mut telemetry = Self::new(settings, Timeline::new(settings, start, true));
        telemetry.plan_to(now);
        telemetry
    }

    fn new(settings: &Settings, timeline: Timeline) -> Self {
        let work = Work::new(&timeline);
        let key = Random::new(settings.seed, Purpose::Telemetry, [0, 0]).next();
        Self { settings: settings.clone(), cluster: Cluster::new(settings), timeline, work, key }
    }

    /// Plans as far as anything that happens before `until` depends on it.
    pub(super) fn plan_to(&mut self, until: Ms) {
        let planned = self.timeline.planned();
        self.timeline.extend_to(until);
        if self.timeline.planned() > planned {
            self.work = Work::new(&self.timeline);
        }
    }

    /// All of a finished run, or a running one up to `now`.
    pub(super) fn span(&self, now: Ms) -> Range<Ms> {
        self.timeline.start..self.timeline.end.min(now)
    }

    /// The planned step that runs at `at`.
    pub(super) fn step_at(&self, at: Ms) -> StepPlan {
        self.timeline.step(self.timeline.step_at(at))
    }

    /// A planned step.
    pub(super) fn step(&self, rid: u32) -> StepPlan {
        self.timeline.step(rid)
    }

    /// The files that a span of time is written to, oldest hour first.
    pub(super) fn parts(&self, span: &Range<Ms>) -> Vec<Part> {
        let flat = |stream: &Stream| stream.layout() == Layout::Flat;
        let whole = Stream::OF_JOB.into_iter().filter(flat).map(|stream| Part { stream, span: span.clone() });
        let hours = clock::hours(span.clone()).flat_map(|span| {
            let hourly = Stream::OF_JOB.into_iter().filter(move |stream| !flat(stream));
            hourly.map(move |stream| Part { stream, span: span.clone() })
        });
        whole.chain(hours).collect()
    }

    /// Writes the lines of a part.
    pub(super) fn write(&self, part: &Part, out: &mut dyn Write) -> io::Result<()> {
        let write = match part.stream {
            Stream::Metrics => metrics::write_metrics,
            Stream::DataBuffer => metrics::write_buffer,
            Stream::Topology => documents::write_topology,
            Stream::Phases => phases::write,
            Stream::GpuUtil => gpu::write_util,
            Stream::GpuProcesses => gpu::write_processes,
            Stream::EngineSeries => engines::write,
            Stream::Trajectories => trajectories::write,
            // Not of the job.
            Stream::GpuHealth => return Ok(()),
        };
        write(self, &part.span, out)
    }

    /// Documents beside the streams: path in the run directory and text.
    pub(super) fn documents(&self) -> [(&'static str, String); 2] {
        [
            ("dashboard/meta.json", documents::meta(self)),
            ("dashboard/lane_catalog.json", documents::catalog(self)),
        ]
    }

    /// The last step whose samples are told of.
    fn last_step(&self) -> u32 {
        self.timeline.planned() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of every stream in a span, cut at these times; planned step by step, as a live run is.
    fn lines(settings: &Settings, now: Ms, cuts: &[Ms]) -> Vec<(String, String)> {
        let mut telemetry = Telemetry::running(settings, now);
        let mut all: Vec<(String, String)> = Vec::new();
        for span in cuts.windows(2) {
            telemetry.plan_to(span[1]);
            for part in telemetry.parts(&(span[0]..span[1])) {
                let mut out = Vec::new();
                telemetry.write(&part, &mut out).unwrap();
                let text = String::from_utf8(out).unwrap();
                match all.iter_mut().find(|(name, _)| *name == part.name()) {
                    Some((_, before)) => before.push_str(&text),
                    None => all.push((part.name(), text)),
                }
            }
        }
        all.retain(|(_, text)| !text.is_empty());
        all.sort();
        all
    }

    #[test]
    fn a_run_written_in_pieces_is_the_run_written_at_once() {
        let settings = Settings { gpus: 3, steps: 4, minutes: 6, prompts: 3, ..Settings::default() };
        let now = clock::EPOCH + 14 * clock::MINUTE;
        let (start, end) = (now - 6 * clock::MINUTE, now + 7 * clock::MINUTE);
        let at_once = lines(&settings, now, &[start, end]);
        assert_eq!(at_once.len(), 3 + 2 * 5, "all streams, in two hours");
        let mut random = Random::new(1, Purpose::Telemetry, [0, 0]);
        let mut cuts = vec![start];
        while let Some(&last) = cuts.last().filter(|&&last| last < end) {
            cuts.push(end.min(last + 1 + random.below(40_000) as Ms));
        }
        assert!(cuts.len() > 20);
        for (cut, whole) in lines(&settings, now, &cuts).iter().zip(&at_once) {
            assert!(cut == whole, "{}", whole.0);
        }
    }

    #[test]
    fn a_run_that_follows_the_clock_finishes_its_steps_now_and_does_not_hang() {
        let settings = Settings::default();
        let now = clock::EPOCH;
        let telemetry = Telemetry::running(&settings, now);
        let last = telemetry.step(settings.run_steps() - 1);
        assert!((now - clock::SECOND..=now).contains(&last.end));
        assert!(telemetry.timeline.hung.is_none() && telemetry.span(now).end == now);
    }
}
