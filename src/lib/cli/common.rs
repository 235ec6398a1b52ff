//! The options that every tool has, and the settings they become.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{ArgAction, Args, ValueEnum};

use super::exit::CliError;
use crate::output::{Format, Options};

/// Names the run directory for every tool.
const RUN_VARIABLE: &str = "MILES_DUMP_DETAILS";

/// What a run directory has at least one of.
pub(super) const RUN_PARTS: [&str; 4] = ["rollout_data", "train_data", "dashboard", "dashboard_columns"];

/// Options of every tool.
#[derive(Debug, Clone, Args)]
pub struct CommonArgs {
    /// Run directory: what the job was given as --dump-details [default: the working directory, if it
    /// looks like a run]
    #[arg(
        short,
        long,
        value_name = "DIR",
        env = RUN_VARIABLE,
        hide_env_values = true,
        global = true
    )]
    pub dump_details: Option<OsString>,

    /// Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]
    #[arg(long, value_name = "FORMAT", global = true, help_heading = "Output")]
    pub format: Option<Format>,

    /// Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is
    /// written; - is stdout
    #[arg(short, long, value_name = "FILE", global = true, help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Only these columns, in this order
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', global = true, help_heading = "Output")]
    pub columns: Option<Vec<String>>,

    /// At most N rows
    #[arg(long, value_name = "N", global = true, help_heading = "Output")]
    pub limit: Option<u64>,

    /// Colour in tables
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, help_heading = "Output")]
    pub color: ColorWhen,

    /// No progress bar and no notes on stderr; errors stay
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,

    /// Say on stderr what is read and skipped; -vv says more
    #[arg(short, long, action = ArgAction::Count, global = true, help_heading = "Output")]
    pub verbose: u8,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

/// Checked settings of a tool.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Run directory as given by flag or environment.
    dump_details: Option<PathBuf>,
    /// Where rows go and how.
    pub output: Options,
    /// No talk on stderr but errors.
    pub quiet: bool,
    /// How much to say, from 0.
    pub verbose: u8,
}

impl Settings {
    /// Checks what can be checked before a command runs.
    ///
    /// # Errors
    /// An output file whose ending names no format, or Parquet to a terminal.
    pub fn new(args: CommonArgs) -> Result<Self, CliError> {
        let output = Options {
            format: args.format,
            path: args.output,
            columns: args.columns,
            limit: args.limit,
            color: use_color(args.color),
        };
        output.resolve_format()?;
        // An empty variable is an unset one; an empty argument is a script's mistake.
        let dump_details = match args.dump_details {
            Some(dir) if dir.is_empty() => {
                if std::env::var_os(RUN_VARIABLE).is_none_or(|value| !value.is_empty()) {
                    return Err(
                        CliError::usage("-d is given an empty name").with_hint("name the run directory")
                    );
                }
                None
            }
            dir => dir.map(PathBuf::from),
        };
        Ok(Self { dump_details, output, quiet: args.quiet, verbose: args.verbose })
    }

    /// The run directory: flag, environment, else the working directory if it looks like a run.
    ///
    /// # Errors
    /// No directory was given and the working directory is no run; or what was given is no directory.
    pub fn run_dir(&self) -> Result<PathBuf, CliError> {
        let Some(dir) = &self.dump_details else {
            let here = Path::new(".");
            if looks_like_run(here) {
                return Ok(here.to_owned());
            }
            return Err(CliError::usage("no run directory was given, and the working directory is not one")
                .with_hint("say -d DIR or set MILES_DUMP_DETAILS; a run has rollout_data/, train_data/, dashboard/ or dashboard_columns/"));
        };
        if dir.is_dir() {
            return Ok(dir.clone());
        }
        let what = if dir.exists() { "is not a directory" } else { "there is no such directory" };
        Err(CliError::usage(format!("{}: {what}", dir.display()))
            .with_hint("-d takes the directory that the job was given as --dump-details"))
    }
}

pub(super) fn looks_like_run(dir: &Path) -> bool {
    RUN_PARTS.iter().any(|part| dir.join(part).is_dir())
}

/// `NO_COLOR`: https://no-color.org.
fn use_color(when: ColorWhen) -> bool {
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => {
            let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            io::stdout().is_terminal() && !set("NO_COLOR") && !dumb
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(dump_details: Option<PathBuf>) -> Settings {
        Settings { dump_details, output: Options::default(), quiet: false, verbose: 0 }
    }

    #[test]
    fn a_directory_that_is_not_there_is_a_usage_error_that_names_it() {
        let error = settings(Some("/no/such/run".into())).run_dir().unwrap_err();
        assert!(error.to_string().starts_with("/no/such/run: there is no such directory; hint: "), "{error}");
        assert_eq!(error.exit().code(), 64);
    }

    #[test]
    fn a_directory_with_any_part_of_a_run_looks_like_a_run() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!looks_like_run(dir.path()));
        std::fs::create_dir(dir.path().join("dashboard")).unwrap();
        assert!(looks_like_run(dir.path()));
    }
}
