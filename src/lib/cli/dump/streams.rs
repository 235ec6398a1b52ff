//! `miles-dump metrics` and `stream`: from arguments to the streams' rows.

use super::args::{MetricsArgs, StreamArgs};
use super::metrics::{self, MetricsRequest};
use super::stream::{self, RowsError, StreamRequest};
use crate::cli::context::Context;
use crate::cli::exit::{CliError, Exit};
use crate::output::Format;
use crate::record::Stream;
use crate::telemetry::TimeArg;
use crate::timeline::Selector;

/// One row a point of the logged metrics.
pub(super) fn metrics(args: &MetricsArgs, context: &Context) -> Result<Exit, CliError> {
    // A shell variable that was not set; as a name it would match nothing, without an error.
    if args.keys.iter().any(|key| key.trim().is_empty()) {
        return Err(CliError::usage("--keys: an empty name").with_hint("'*' is every metric"));
    }
    let request = MetricsRequest {
        keys: args.keys.clone(),
        x: args.x.clone(),
        t0: time("--t0", args.t0.as_deref())?,
        t1: time("--t1", args.t1.as_deref())?,
    };
    let dir = context.run_dir()?;
    let mut output = context.open(&metrics::columns())?;
    metrics::run(&dir, &request, &mut output, &mut |note| context.warn(note))?;
    context.close(output)
}

/// The records of a stream: whole objects where the format takes them, else a row each.
pub(super) fn stream(args: &StreamArgs, context: &Context) -> Result<Exit, CliError> {
    let stream: Stream = args.name.parse().map_err(|e| CliError::usage(format!("{e}")))?;
    let lanes = args.lanes.as_deref().map(str::parse::<Selector>).transpose();
    let request = StreamRequest {
        stream,
        t0: time("--t0", args.t0.as_deref())?,
        t1: time("--t1", args.t1.as_deref())?,
        lanes: lanes.map_err(|e| CliError::usage(format!("--lanes: {e}")))?,
    };
    let dir = context.run_dir()?;
    let options = &context.settings().output;
    let mut output = context.open(&stream::columns(stream))?;
    let mut note = |note| context.warn(note);
    if options.takes_objects()? {
        // Between tools a record says of which stream it is; on disk the file does.
        let on_a_pipe = options.resolve_format()? == Format::Ndjson;
        let mut tagged = String::new();
        let mut line = |object: &str| {
            let Some(rest) = object.strip_prefix('{').filter(|_| on_a_pipe) else {
                return output.object(object);
            };
            let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
            tagged.clear();
            tagged.extend(["{\"stream\":\"", stream.name(), "\"", comma, rest]);
            output.object(&tagged)
        };
        stream::lines(&dir, &request, &mut line, &mut note)?;
    } else {
        stream::run(&dir, &request, &mut output, &mut note)?;
    }
    context.close(output)
}

fn time(flag: &str, text: Option<&str>) -> Result<Option<TimeArg>, CliError> {
    text.map(|t| t.parse().map_err(|e| CliError::usage(format!("{flag}: {e}")))).transpose()
}

impl From<RowsError> for CliError {
    fn from(error: RowsError) -> Self {
        let exit = if error.is_usage() { Exit::Usage } else { Exit::Error };
        match error {
            RowsError::Output(e) => e.into(),
            other => Self::from_error(&other).with_exit(exit),
        }
    }
}
