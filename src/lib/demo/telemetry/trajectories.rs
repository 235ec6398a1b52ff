//! `trajectories`: the life of every sample of the dumps, attempt by attempt.
//!
//! More samples are started in a rollout than its step needs. Those that are complete when it ends
//! wait in the data buffer; those that are not are aborted and go on in the next rollout, with newer
//! weights. So the weight versions of a sample say in which rollout each of its turns was generated.

use std::io::{self, Write};
use std::ops::Range;

use super::Telemetry;
use super::clock::Ms;
use super::events::Events;
use super::line::{push_int, push_time};
use super::timeline::StepPlan;
use crate::demo::Split;
use crate::demo::random::{Purpose, Random};
use crate::demo::story::{Outcome, Status, Step, Style};

/// Thousandths of an attempt that a tool call takes.
const TOOL: Ms = 30;
/// From an aborted attempt to the next, in thousandths of a rollout.
const BACK_OFF: Ms = 12;

/// Writes the events of a span within one hour.
pub(super) fn write(telemetry: &Telemetry, span: &Range<Ms>, out: &mut dyn Write) -> io::Result<()> {
    let timeline = &telemetry.timeline;
    let mut events = Events::new(span.clone());
    // Samples of the next step begin in this one.
    let last = (timeline.step_at(span.end) + 1).min(telemetry.last_step());
    for rid in timeline.step_at(span.start)..=last {
        let story = Step::new(&telemetry.settings, rid, Split::Train);
        let now = timeline.step(rid);
        let before = rid.checked_sub(1).map(|rid| timeline.step(rid));
        for place in 0..story.samples() {
            let outcome = story.outcome(place);
            let mut life = Life { events: &mut events, outcome: &outcome, version: String::new() };
            tell(telemetry, &story, before.as_ref(), &now, place, &outcome, &mut life);
        }
    }
    events.write(out)
}

/// Samples of a step that were begun in the rollout before it: the length of the data buffer.
pub(super) fn waiting(telemetry: &Telemetry, rid: u32) -> i64 {
    if rid > telemetry.last_step() || rid == 0 {
        return 0;
    }
    let story = Step::new(&telemetry.settings, rid, Split::Train);
    (0..story.samples()).filter(|&place| early_turns(&story.outcome(place), rid) > 0).count() as i64
}

/// Turns with weights of the rollout before.
fn early_turns(outcome: &Outcome, rid: u32) -> usize {
    outcome.versions.iter().take_while(|&&version| rid > 0 && version != rid).count()
}

/// Where the turns of one attempt lie.
struct Attempt<'v> {
    submitted: Ms,
    /// From the first token to the last, tools included.
    busy: Range<Ms>,
    /// Weight version of each turn.
    versions: &'v [u32],
    /// Turns of the sample before this attempt.
    earlier: usize,
    ended: Ms,
    detail: &'static str,
}

fn tell(
    telemetry: &Telemetry,
    story: &Step<'_>,
    before: Option<&StepPlan>,
    now: &StepPlan,
    place: usize,
    outcome: &Outcome,
    life: &mut Life<'_>,
) {
    let mut random =
        Random::new(story.settings.seed, Purpose::Telemetry, [u64::from(story.rid) | 1 << 33, place as u64]);
    let mut pick = |n: usize| random.below(n) as Ms;
    let early = early_turns(outcome, story.rid);
    let (versions_before, versions_now) = outcome.versions.split_at(early);
    let per_turn = story.style(outcome.group) == Style::Tools;
    let share = (outcome.length as f64 / f64::from(story.settings.max_response)).min(1.0);
    // A longer response takes longer; the longest ends the rollout.
    let finish = 190 + (720.0 * share) as Ms + pick(70);
    let engine = outcome.index % telemetry.cluster.engines.len();
    let queue = |step: &StepPlan, noise: Ms| match step.saturated && engine == 0 {
        true => 40 + noise * 4,
        false => 4 + noise / 2,
    };
    let within = |step: &StepPlan, part: Ms| {
        step.rollout.start + (step.rollout.end - step.rollout.start) * part.min(998) / 1000
    };
    let status = match outcome.status {
        Status::Completed => "completed",
        Status::Truncated => "truncated",
        Status::Aborted => "aborted",
    };
    if let Some(before) = before.filter(|_| early > 0) {
        let all = versions_now.is_empty();
        // What goes on in the next rollout was started late in this one.
        let start = if all { pick(20) } else { 610 + pick(200) };
        let begin = start + queue(before, pick(30));
        let end = if all { finish.max(begin + 60) } else { 975 + pick(20) };
        let ended = within(before, if all { end + 2 } else { 999 });
        let attempt = Attempt {
            submitted: within(before, start),
            busy: within(before, begin)..within(before, end),
            versions: versions_before,
            earlier: 0,
            ended,
            detail: if all { status } else { "aborted" },
        };
        life.attempt(&attempt, per_turn, None);
    }
    if versions_now.is_empty() {
        return;
    }
    let start = pick(20);
    let begin = start + queue(now, pick(30));
    // What was begun before has less to do.
    let end = if early > 0 { begin + 60 + finish / 3 } else { finish.max(begin + 60) };
    let mut attempt = Attempt {
        submitted: within(now, start),
        busy: within(now, begin)..within(now, end),
        versions: versions_now,
        earlier: early,
        ended: within(now, end + 2),
        detail: status,
    };
    let restart = &telemetry.timeline.restart;
    let hit = restart.rid == now.rid
        && engine + 1 == telemetry.cluster.engines.len()
        && attempt.busy.contains(&restart.gap.start);
    if hit {
        attempt.detail = "aborted";
        life.attempt(&attempt, per_turn, Some(restart.gap.start));
        // Another engine takes over and has to start from the beginning.
        let back = (now.rollout.end - now.rollout.start) * BACK_OFF / 1000;
        let until = within(now, 880 + pick(100)).max(attempt.busy.end);
        attempt.submitted = restart.gap.start + back;
        attempt.busy = attempt.submitted + back..until;
        attempt.ended = until + back / 4;
        attempt.detail = status;
    }
    life.attempt(&attempt, per_turn, None);
}

/// Writes one sample's events.
struct Life<'e> {
    events: &'e mut Events,
    outcome: &'e Outcome,
    /// Weight version of the newest answer.
    version: String,
}

impl Life<'_> {
    /// An attempt; with `cut` it ends there, in the middle of whatever it does.
    fn attempt(&mut self, attempt: &Attempt<'_>, per_turn: bool, cut: Option<Ms>) {
        let limit = cut.unwrap_or(Ms::MAX);
        self.version.clear();
        self.event(attempt.submitted, "attempt_start", -1, "");
        let count = attempt.versions.len() as Ms;
        let length = attempt.busy.end - attempt.busy.start;
        let pause = if count > 1 { length * TOOL / 1000 } else { 0 };
        let turn_length = (length - pause * (count - 1)) / count;
        let mut at = attempt.busy.start;
        for (turn, version) in attempt.versions.iter().enumerate() {
            if at >= limit {
                break;
            }
            let number = if per_turn { (attempt.earlier + turn) as i64 + 1 } else { -1 };
            self.event(at, "gen_start", number, "");
            self.version = version.to_string();
            at += turn_length;
            if at >= limit {
                break;
            }
            self.event(at, "gen_end", number, "");
            if turn + 1 < attempt.versions.len() {
                self.event(at, "tool_start", number, "1 calls");
                at += pause;
                if at < limit {
                    self.event(at, "tool_end", number, "");
                }
            }
        }
        self.event(cut.unwrap_or(attempt.ended.max(at)), "attempt_end", -1, attempt.detail);
    }

    fn event(&mut self, at: Ms, kind: &str, turn: i64, detail: &str) {
        let (outcome, version) = (self.outcome, &self.version);
        self.events.add(at, |out| {
            out.extend_from_slice(b"{\"ts\":");
            push_time(out, at);
            out.extend_from_slice(b",\"kind\":\"");
            out.extend_from_slice(kind.as_bytes());
            out.extend_from_slice(b"\",\"sample_index\":");
            push_int(out, outcome.index as i64);
            out.extend_from_slice(b",\"group_index\":");
            push_int(out, outcome.group as i64);
            out.extend_from_slice(b",\"turn\":");
            push_int(out, turn);
            out.extend_from_slice(b",\"weight_version\":\"");
            out.extend_from_slice(version.as_bytes());
            out.extend_from_slice(b"\",\"detail\":\"");
            out.extend_from_slice(detail.as_bytes());
            out.extend_from_slice(b"\"}\n");
        });
    }
}
