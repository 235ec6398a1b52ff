//! Exit statuses and the one error type that reaches a tool's edge.

use std::fmt;
use std::process::ExitCode;

use crate::output::{OutputError, escape_controls};

/// How a tool ends; scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Fine; also when the reader of the pipe went away.
    Ok,
    /// The tool worked and found something to report.
    Findings,
    /// Something failed.
    Error,
    /// The command line cannot be understood (`EX_USAGE`).
    Usage,
    /// A device or service is not there (`EX_UNAVAILABLE`).
    Unavailable,
    /// A file is still being written: try again (`EX_TEMPFAIL`).
    StillWriting,
}

impl Exit {
    /// The exit status.
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Findings => 1,
            Self::Error => 2,
            Self::Usage => 64,
            Self::Unavailable => 69,
            Self::StillWriting => 75,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a tool failed: what is said once on stderr, and the exit status.
///
/// Library errors become one through `From`, so that a command can use `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliError {
    message: String,
    hint: Option<String>,
    exit: Exit,
    /// About the command line or the output, not about one input of several.
    ends_all: bool,
}

impl CliError {
    /// A failure (exit status 2).
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, exit: Exit::Error, ends_all: false }
    }

    /// Something about the command line (exit status 64).
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(message).with_exit(Exit::Usage)
    }

    /// A failure told by a library error: its message and those of its sources that it does not
    /// repeat already.
    pub fn from_error(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut message = error.to_string();
        let mut next = error.source();
        while let Some(source) = next {
            let text = source.to_string();
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            next = source.source();
        }
        Self::new(message)
    }

    /// Adds what to do about it, in one clause.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Ends the tool with another status.
    #[must_use]
    pub fn with_exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// The status that the tool ends with.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// Whether the next input would only fail the same way: the command line is wrong, or rows cannot
    /// be written.
    pub fn ends_all(&self) -> bool {
        self.ends_all || self.exit == Exit::Usage
    }
}

/// One line: `MESSAGE; hint: HINT`, with nothing in it that can drive a terminal, because messages
/// carry file names and text from files.
impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape_controls(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, "; hint: {}", escape_controls(hint)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for CliError {}

impl From<OutputError> for CliError {
    fn from(error: OutputError) -> Self {
        let exit = if error.is_usage() { Exit::Usage } else { Exit::Error };
        let hint = error.hint();
        Self { hint, ends_all: true, ..Self::from_error(&error).with_exit(exit) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_its_hint() {
        let error = CliError::new("run/3.pt: cut\nat byte 5").with_hint("run again");
        assert_eq!(error.to_string(), "run/3.pt: cut\\nat byte 5; hint: run again");
        assert_eq!(error.exit().code(), 2);
    }

    #[test]
    fn an_unknown_column_is_a_usage_error_that_lists_the_columns() {
        let error = OutputError::UnknownColumn { name: "rewrad".into(), known: "reward, turns".into() };
        let error = CliError::from(error);
        assert_eq!(error.to_string(), "there is no column 'rewrad'; hint: the columns are reward, turns");
        assert_eq!(error.exit(), Exit::Usage);
    }
}
