//! What a command works with: its settings, where rows go, and how it talks on stderr.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::common::{RUN_PARTS, Settings, looks_like_run};
use super::exit::{CliError, Exit};
use super::progress::Progress;
use crate::output::{Column, Output, escape_controls};

/// Passed to every command.
pub struct Context {
    tool: &'static str,
    settings: Settings,
    /// The bar on show, which rows on the same terminal take away.
    progress: Mutex<Option<Progress>>,
}

impl Context {
    /// A context for the tool called `tool`.
    pub fn new(tool: &'static str, settings: Settings) -> Self {
        Self { tool, settings, progress: Mutex::new(None) }
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The run directory.
    ///
    /// # Errors
    /// See [`Settings::run_dir`].
    pub fn run_dir(&self) -> Result<PathBuf, CliError> {
        let dir = self.settings.run_dir()?;
        if !looks_like_run(&dir) {
            let parent = dir.parent().filter(|parent| looks_like_run(parent));
            let meant = parent.map(|p| format!("; {} does", p.display())).unwrap_or_default();
            self.warn(format_args!(
                "{} does not look like a run: no rollout_data/, train_data/, dashboard/ or dashboard_columns/ in it{meant}",
                dir.display()
            ));
        }
        Ok(dir)
    }

    /// True when a column called `name` will be written; work for one that will not can be left out.
    pub fn wants(&self, name: &str) -> bool {
        self.settings.output.wants(name)
    }

    /// Opens the output for rows of `columns`. Do it after the input is found to be readable, so that
    /// a bad argument leaves no trace, and end it with [`Context::close`].
    ///
    /// # Errors
    /// Unknown columns, or a destination that cannot be written.
    pub fn open(&self, columns: &[Column]) -> Result<Output, CliError> {
        self.check_output()?;
        let bar = self.progress.lock().ok().and_then(|progress| progress.clone());
        let before = bar.filter(|_| self.settings.output.is_terminal()).map(|bar| {
            let action: Box<dyn FnOnce() + Send> = Box::new(move || bar.retire());
            action
        });
        Ok(self.settings.output.open_after(columns, before)?)
    }

    /// Refuses to write into the folders that the job writes: a slip of the pen would cost a dump.
    fn check_output(&self) -> Result<(), CliError> {
        let Some(path) = self.settings.output.path.as_deref().filter(|p| *p != Path::new("-")) else {
            return Ok(());
        };
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let (Ok(parent), Ok(run)) = (parent.canonicalize(), self.settings.run_dir()) else { return Ok(()) };
        let owned = RUN_PARTS.iter().chain(&["trajectory", "tokenizer"]);
        let inside =
            |part: &&str| run.join(part).canonicalize().is_ok_and(|folder| parent.starts_with(folder));
        match owned.into_iter().find(|part| inside(part)) {
            Some(part) => Err(CliError::usage(format!("{}: {part}/ of a run is the job's", path.display()))
                .with_hint("write elsewhere")),
            None => Ok(()),
        }
    }

    /// Ends an output.
    ///
    /// # Errors
    /// The destination cannot be written.
    pub fn close(&self, output: Output) -> Result<Exit, CliError> {
        let report = output.finish()?;
        self.note(1, format_args!("{} rows", report.rows));
        Ok(Exit::Ok)
    }

    /// A progress bar for `total` units of work named `unit`. Start it before the output is opened.
    pub fn progress(&self, total: u64, unit: &'static str) -> Progress {
        let shown = !self.settings.quiet && io::stderr().is_terminal();
        let progress = Progress::new(total, unit, shown);
        if let Ok(mut current) = self.progress.lock() {
            *current = Some(progress.clone());
        }
        progress
    }

    /// Something the user should know though the command goes on; silent with `-q`.
    pub fn warn(&self, message: impl Display) {
        if !self.settings.quiet {
            say(self.tool, &format!("warning: {message}"));
        }
    }

    /// An error that does not end the command.
    pub fn complain(&self, error: &CliError) {
        say(self.tool, &error.to_string());
    }

    /// Detail for `-v` (level 1) or `-vv` (level 2).
    pub fn note(&self, level: u8, message: impl Display) {
        if self.settings.verbose >= level {
            say(self.tool, &message.to_string());
        }
    }
}

/// One line on stderr. A closed stderr is nobody's problem.
pub(super) fn say(tool: &str, line: &str) {
    let _ = writeln!(io::stderr().lock(), "{tool}: {}", escape_controls(line));
}
