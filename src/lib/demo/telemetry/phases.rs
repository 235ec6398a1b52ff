//! `phases`: what every rank and the rollout manager did, with open markers.

use std::io::{self, Write};
use std::ops::Range;

use super::Telemetry;
use super::clock::Ms;
use super::events::Events;
use super::line::{push_int, push_time};

/// What stands for the end of a phase in its open marker.
const OPEN: &str = "-1.0";

/// Writes the markers and phases of a span within one hour: a marker when its phase starts, the
/// phase when it has ended.
pub(super) fn write(telemetry: &Telemetry, span: &Range<Ms>, out: &mut dyn Write) -> io::Result<()> {
    let Telemetry { cluster, timeline, .. } = telemetry;
    let mut events = Events::new(span.clone());
    // A step's last phases end in the next one.
    let first = timeline.step_at(span.start).saturating_sub(1);
    for rid in first..=timeline.step_at(span.end) {
        let step = timeline.step(rid);
        let managed = [("eval_rollout", step.eval.as_ref()), ("rollout", Some(&step.rollout))];
        for (name, window) in managed.into_iter().filter_map(|(name, window)| Some((name, window?))) {
            let manager = Owner { node: &cluster.nodes[0], gpu: None, rank: -1, role: "rollout_manager" };
            add(&mut events, name, window.start, window.end, true, &manager);
        }
        for lane in 0..cluster.lanes() {
            let (node, gpu) = cluster.place(lane);
            let rank = Owner { node, gpu: Some(gpu), rank: lane as i64, role: "train" };
            for span in timeline.spans(&step, lane as u32) {
                add(&mut events, span.phase.name(), span.start, span.end, span.phase.is_marked(), &rank);
            }
        }
    }
    events.write(out)
}

struct Owner<'a> {
    node: &'a str,
    gpu: Option<usize>,
    rank: i64,
    role: &'a str,
}

fn add(events: &mut Events, name: &str, start: Ms, end: Ms, marked: bool, owner: &Owner<'_>) {
    let line = |out: &mut Vec<u8>, end: Option<Ms>| {
        out.extend_from_slice(b"{\"name\":\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\",\"t0\":");
        push_time(out, start);
        out.extend_from_slice(b",\"t1\":");
        match end {
            Some(end) => push_time(out, end),
            None => out.extend_from_slice(OPEN.as_bytes()),
        }
        out.extend_from_slice(b",\"node\":\"");
        out.extend_from_slice(owner.node.as_bytes());
        out.extend_from_slice(b"\",\"gpus\":[");
        if let Some(gpu) = owner.gpu {
            push_int(out, gpu as i64);
        }
        out.extend_from_slice(b"],\"rank\":");
        push_int(out, owner.rank);
        out.extend_from_slice(b",\"role\":\"");
        out.extend_from_slice(owner.role.as_bytes());
        out.extend_from_slice(b"\"}\n");
    };
    if marked {
        events.add(start, |out| line(out, None));
    }
    events.add(end, |out| line(out, Some(end)));
}
