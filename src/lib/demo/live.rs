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
use super::{Error, Report, Settings, plan, run_all};

/// How often the clock and the wish to stop are looked at.
const PATIENCE: Duration = Duration::from_millis(100);

/// Writes a run whose steps end now to `dir`, and goes on with it until `stop` is true: [`Live::begin`]
/// and [`Live::follow`] in one.
///
/// # Errors
/// Those of both.
pub fn live(dir: &Path, settings: &Settings, stop: &AtomicBool) -> Result<Report, Error> {
    let mut live = Live::begin(dir, settings, || ())?;
    live.follow(stop)?;
    Ok(live.report())
}

/// A run that goes on.
pub struct Live {
    settings: Settings,
    vocabulary: Vocabulary,
    telemetry: Telemetry,
    folder: Folder,
    report: Report,
    /// What is before it was written.
    until: Ms,
}

impl Live {
    /// Writes the past of a run whose steps end now to `dir`, as [`write()`](super::write()) does.
    /// `progress` is called for each file.
    ///
    /// # Errors
    /// [`Error`]; also for a run of no minutes.
    pub fn begin(dir: &Path, settings: &Settings, progress: impl Fn() + Sync) -> Result<Self, Error> {
        settings.check()?;
        if settings.minutes == 0 {
            return Err(Error::Setting { name: "minutes", bounds: "must be at least 1 with --live".into() });
        }
        let vocabulary = Vocabulary::new();
        let until = now();
        let telemetry = Telemetry::running(settings, until);
        let tasks = plan(settings, Some(&telemetry), until);
        let trained = telemetry.step(settings.run_steps() - 1).trained;
        let names = tasks.iter().map(Task::name).collect();
        let folder = Folder::claim(dir, settings, names, Some(trained))?;
        let source = Source { settings, vocabulary: &vocabulary, telemetry: Some(&telemetry) };
        let report = run_all(&tasks, &source, &folder, &progress)?;
        Ok(Self { settings: settings.clone(), vocabulary, telemetry, folder, report, until })
    }

    /// Appends what happens, second by second, until `stop` is true. Streams only ever grow by
    /// complete lines; a new step's rollout files are there before its train files.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn follow(&mut self, stop: &AtomicBool) -> Result<(), Error> {
        while !stop.load(Ordering::Relaxed) {
            let next = now();
            if next <= self.until {
                thread::sleep(PATIENCE);
                continue;
            }
            self.telemetry.plan_to(next);
            self.append_lines(next)?;
            self.write_dumps(next)?;
            self.until = next;
        }
        Ok(())
    }

    /// What was written so far.
    pub fn report(&self) -> Report {
        self.report
    }

    fn append_lines(&mut self, next: Ms) -> Result<(), Error> {
        for part in self.telemetry.parts(&(self.until..next)) {
            let mut lines = Vec::new();
            // Memory takes everything.
            let _ = self.telemetry.write(&part, &mut lines);
            if !lines.is_empty() {
                self.report.files += usize::from(self.folder.append(&part.name(), &lines)?);
                self.report.bytes += lines.len() as u64;
            }
        }
        Ok(())
    }

    fn write_dumps(&mut self, next: Ms) -> Result<(), Error> {
        let span = self.until..next;
        for rid in self.telemetry.step_at(span.start).rid..=self.telemetry.step_at(next).rid {
            let step = self.telemetry.step(rid);
            let (mut complete, mut trained): (Vec<Task>, Vec<Task>) = Default::default();
            if step.eval.as_ref().is_some_and(|eval| span.contains(&eval.end)) {
                complete.extend(task::rollout_dumps(rid, Split::Eval));
            }
            if span.contains(&step.rollout.end) {
                complete.extend(task::rollout_dumps(rid, Split::Train));
            }
            if span.contains(&step.trained) {
                trained.extend(task::train_dumps(&self.settings, rid));
            }
            // Whoever sees a train file relies on the rollout files.
            for tasks in [complete, trained].into_iter().filter(|tasks| !tasks.is_empty()) {
                self.folder.list(tasks.iter().map(Task::name))?;
                let source = Source {
                    settings: &self.settings,
                    vocabulary: &self.vocabulary,
                    telemetry: Some(&self.telemetry),
                };
                let write = |task: &Task| task.run_at(&source, &self.folder, Written::Now);
                let bytes: Result<Vec<u64>, Error> = tasks.par_iter().map(write).collect();
                self.report.files += tasks.len();
                self.report.bytes += bytes?.iter().sum::<u64>();
            }
        }
        Ok(())
    }
}
