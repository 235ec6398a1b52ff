//! `metrics` and `data_buffer`: what the job logs once or twice a step.

use std::io::{self, Write};
use std::ops::Range;

use super::Telemetry;
use super::clock::Ms;
use super::events::Events;
use super::line::{push_fixed, push_float, push_int, push_time};
use super::timeline::{Phase, StepPlan};
use super::trajectories::waiting;
use crate::demo::Split;
use crate::demo::random::{Purpose, Random};
use crate::demo::story::{Status, Step};

/// Model FLOPs utilisation of a step without a straggler, and what the GPU could do.
const MFU: f64 = 0.38;
const PEAK_TFLOPS: f64 = 989.0;

/// Writes what is logged in a span.
pub(super) fn write_metrics(telemetry: &Telemetry, span: &Range<Ms>, out: &mut dyn Write) -> io::Result<()> {
    let timeline = &telemetry.timeline;
    let mut events = Events::new(span.clone());
    for rid in timeline.step_at(span.start)..=timeline.step_at(span.end) {
        let step = timeline.step(rid);
        if let Some(eval) = &step.eval {
            record(&mut events, eval.end, "eval/step", rid, |fields| evaluated(telemetry, rid, fields));
        }
        record(&mut events, step.rollout.end, "rollout/step", rid, |fields| {
            rolled_out(telemetry, rid, fields);
        });
        record(&mut events, step.trained, "rollout/step", rid, |fields| timed(telemetry, &step, fields));
        record(&mut events, step.trained, "train/step", rid, |fields| trained(telemetry, rid, fields));
    }
    events.write(out)
}

/// Writes the lengths of the data buffer: when a rollout takes samples from it, and when it leaves some.
pub(super) fn write_buffer(telemetry: &Telemetry, span: &Range<Ms>, out: &mut dyn Write) -> io::Result<()> {
    let timeline = &telemetry.timeline;
    let mut events = Events::new(span.clone());
    for rid in timeline.step_at(span.start)..=timeline.step_at(span.end) {
        let rollout = timeline.step(rid).rollout;
        for (at, next) in [(rollout.start, rid), (rollout.end, rid + 1)] {
            events.add(at, |out| {
                out.extend_from_slice(b"{\"ts\":");
                push_time(out, at);
                out.extend_from_slice(b",\"length\":");
                push_int(out, waiting(telemetry, next));
                out.extend_from_slice(b"}\n");
            });
        }
    }
    events.write(out)
}

/// The metrics of a record, name by name.
struct Fields<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl Fields<'_> {
    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    fn float(&mut self, name: &str, value: f64) {
        self.name(name);
        push_float(self.out, value, 6);
    }

    fn seconds(&mut self, name: &str, ms: Ms) {
        self.name(name);
        push_fixed(self.out, ms, 3);
    }

    fn int(&mut self, name: &str, value: i64) {
        self.name(name);
        push_int(self.out, value);
    }

    fn bool(&mut self, name: &str, value: bool) {
        self.name(name);
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }
}

fn record(events: &mut Events, at: Ms, key: &str, step: u32, fill: impl FnOnce(&mut Fields<'_>)) {
    events.add(at, |out| {
        out.extend_from_slice(b"{\"ts\":");
        push_time(out, at);
        out.extend_from_slice(b",\"step_key\":\"");
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(b"\",\"step\":");
        push_int(out, step.into());
        out.extend_from_slice(b",\"metrics\":{");
        fill(&mut Fields { out, is_first: true });
        out.extend_from_slice(b"}}\n");
    });
}

/// Mean reward and share of truncated samples of a batch, and its groups with all 0 and all 1.
fn batch(step: &Step<'_>) -> (f64, f64, [i64; 2]) {
    let (members, samples) = (step.members(), step.samples());
    let (mut rewards, mut truncated, mut dead) = (0.0, 0_usize, [0, 0]);
    let mut group = Vec::with_capacity(members);
    for place in 0..samples {
        let outcome = step.outcome(place);
        rewards += outcome.reward;
        truncated += usize::from(outcome.status == Status::Truncated);
        group.push(outcome.reward);
        if group.len() == members {
            for (count, reward) in dead.iter_mut().zip([0.0, 1.0]) {
                *count += i64::from(group.iter().all(|&other| other == reward));
            }
            group.clear();
        }
    }
    (rewards / samples as f64, truncated as f64 / samples as f64, dead)
}

fn rolled_out(telemetry: &Telemetry, rid: u32, fields: &mut Fields<'_>) {
    let (reward, truncated, dead) = batch(&Step::new(&telemetry.settings, rid, Split::Train));
    fields.float("rollout/raw_reward", reward);
    fields.float("rollout/truncated_ratio", truncated);
    fields.int("rollout/zero_std/count_0", dead[0]);
    fields.int("rollout/zero_std/count_1", dead[1]);
    fields.int("rollout/waiting_samples", waiting(telemetry, rid + 1));
}

fn evaluated(telemetry: &Telemetry, rid: u32, fields: &mut Fields<'_>) {
    let (reward, truncated, _) = batch(&Step::new(&telemetry.settings, rid, Split::Eval));
    fields.float("eval/demo", reward);
    fields.float("eval/demo-truncated_ratio", truncated);
}

fn timed(telemetry: &Telemetry, step: &StepPlan, fields: &mut Fields<'_>) {
    let timeline = &telemetry.timeline;
    let since = step.rid.checked_sub(1).map_or(step.start, |before| timeline.step(before).trained);
    let spans = timeline.spans(step, 0);
    let of = |phase: Phase| -> Ms {
        let all = spans.iter().filter(|span| span.phase == phase && span.end <= step.trained);
        all.map(|span| span.end - span.start).sum()
    };
    let step_time = step.trained - since;
    let computing = spans.iter().find(|span| span.phase == Phase::ActorTrain);
    // The step has trained when its slowest rank has.
    let slowest = computing.map_or(1, |span| step.trained - span.start).max(1);
    let usual = timeline.usual_train();
    let mfu = (MFU + 0.01 * noise(telemetry, step.rid, 1)) * (usual as f64 / slowest as f64).min(1.0);
    fields.seconds("perf/step_time", step_time);
    fields.float("perf/wait_time_ratio", of(Phase::TrainWait) as f64 / step_time.max(1) as f64);
    fields.seconds("perf/rollout_time", step.rollout.end - step.rollout.start);
    fields.seconds("perf/train_wait_time", of(Phase::TrainWait));
    fields.seconds("perf/train_time", step.trained - step.rollout.end);
    fields.seconds("perf/data_preprocess_time", of(Phase::DataPreprocess));
    fields.seconds("perf/ref_log_probs_time", of(Phase::RefLogProbs));
    fields.seconds("perf/log_probs_time", of(Phase::LogProbs));
    fields.seconds("perf/actor_train_time", slowest);
    fields.float("perf/actor_train_tflops", mfu * PEAK_TFLOPS);
    fields.float("perf/actor_train_mfu", mfu);
    fields.float("perf/mfu_peak_tflops", PEAK_TFLOPS);
}

fn trained(telemetry: &Telemetry, rid: u32, fields: &mut Fields<'_>) {
    let steps = telemetry.settings.run_steps();
    let progress = (f64::from(rid) / f64::from(steps.max(2) - 1)).min(1.0);
    let mut noise = (2..).map(|which| noise(telemetry, rid, which));
    let mut around = |value: f64, spread: f64| value + spread * noise.next().unwrap_or_default();
    let policy = around(0.012 - 0.008 * progress, 0.004);
    let kl = around(0.001 + 0.03 * progress, 0.001).abs();
    fields.float("train/loss", policy + 0.01 * kl);
    fields.float("train/pg_loss", policy);
    fields.float("train/kl_loss", kl);
    fields.float("train/entropy_loss", around(0.42 - 0.2 * progress, 0.01));
    fields.float("train/ppo_kl", around(0.0008 + 0.002 * progress, 0.0002));
    fields.float("train/pg_clipfrac", around(0.004 + 0.012 * progress, 0.002).abs());
    fields.float("train/train_rollout_logprob_abs_diff", around(0.006 + 0.02 * progress, 0.001));
    fields.float("train/grad_norm", around(0.35 + 0.2 * progress, 0.06));
    fields.float("train/lr-pg_0", 0.000_001);
    fields.bool("train/skipped", false);
}

/// From -1 to 1.
fn noise(telemetry: &Telemetry, rid: u32, which: u64) -> f64 {
    let seed = [u64::from(rid) | 1 << 34, which];
    2.0 * f64::from(Random::new(telemetry.settings.seed, Purpose::Telemetry, seed).unit()) - 1.0
}
