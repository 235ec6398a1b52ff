//! A run that goes on: its past ends now, and what happens from then on is appended as it happens.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rayon::prelude::*;

use super::folder::{Folder, Written};
use super::task::{self, Source, Split, Task};
use super::telemetry::{Ms, Telemetry, now};
use super::vocabulary::Vocabulary;
use super::{Error, Report, Settings, run_all};

/// How often the clock and `stop` are looked at.
const PATIENCE: Duration = Duration::from_millis(100);

/// Writes a run whose steps end now to `dir`, as [`write()`](super::write()) does, and goes on with
/// it second by second until `stop` is true. `progress` is called for each of the [`Settings::files`] of its
/// past. Streams only ever grow by complete lines; a new step's rollout files are there before its train files.
///
/// # Errors
/// [`Error`]; also for a run of no minutes.
pub fn live(
    dir: &Path,
    settings: &Settings,
    progress: impl Fn() + Sync,
    stop: &AtomicBool,
) -> Result<Report, Error> {
    settings.check()?;
    if settings.minutes == 0 {
        return Err(Error::Setting { name: "minutes", bounds: "must be at least 1 with --live".into() });
    }
    let vocabulary = Vocabulary::new();
    let mut until = now();
    let mut telemetry = Telemetry::running(settings, until);
    let mut tasks = task::dumps(settings);
    tasks.extend(task::streams(&telemetry, telemetry.parts(&telemetry.span(until))));
    let names = tasks.iter().map(Task::name).collect();
    let mut folder = Folder::claim(dir, settings, names, Some(telemetry.step_at(until - 1).trained))?;
    let source = Source { settings, vocabulary: &vocabulary, telemetry: Some(&telemetry) };
    let mut report = run_all(&tasks, &source, &folder, &progress)?;
    while !stop.load(Ordering::Relaxed) {
        let next = now();
        if next <= until {
            thread::sleep(PATIENCE);
            continue;
        }
        telemetry.plan_to(next);
        let added = append(settings, &vocabulary, &telemetry, &mut folder, until, next)?;
        report.files += added.files;
        report.bytes += added.bytes;
        until = next;
    }
    Ok(report)
}

/// Writes what happens from `from` to `until`.
fn append(
    settings: &Settings,
    vocabulary: &Vocabulary,
    telemetry: &Telemetry,
    folder: &mut Folder,
    from: Ms,
    until: Ms,
) -> Result<Report, Error> {
    let mut added = Report { files: 0, bytes: 0 };
    let span = from..until;
    for part in telemetry.parts(&span) {
        let mut lines = Vec::new();
        // Memory takes everything.
        let _ = telemetry.write(&part, &mut lines);
        if !lines.is_empty() {
            added.files += usize::from(folder.append(&part.name(), &lines)?);
            added.bytes += lines.len() as u64;
        }
    }
    let source = Source { settings, vocabulary, telemetry: Some(telemetry) };
    let first = telemetry.step_at(from);
    let last = telemetry.step_at(until).rid;
    for rid in first.rid..=last {
        let step = telemetry.step(rid);
        let mut tasks: Vec<Task> = Vec::new();
        if step.eval.as_ref().is_some_and(|eval| span.contains(&eval.end)) {
            tasks.extend(task::rollout_dumps(rid, Split::Eval));
        }
        if span.contains(&step.rollout.end) {
            tasks.extend(task::rollout_dumps(rid, Split::Train));
        }
        let trained = if span.contains(&step.trained) {
            task::train_dumps(settings, rid).collect()
        } else {
            Vec::new()
        };
        // Whoever sees a train file may rely on the rollout files.
        for tasks in [tasks, trained].iter().filter(|tasks| !tasks.is_empty()) {
            folder.list(tasks.iter().map(Task::name))?;
            let write = |task: &Task| task.run_at(&source, folder, Written::Now);
            let bytes: Result<Vec<u64>, Error> = tasks.par_iter().map(write).collect();
            added.files += tasks.len();
            added.bytes += bytes?.iter().sum::<u64>();
        }
    }
    Ok(added)
}
