//! The command line of `miles-dump`: every command, its options, and help with examples.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::steps_arg::Steps;
use crate::cli::common::CommonArgs;

const RID_HELP: &str = "Rollout id: a number, 'latest', a range 3-7 or a list 3,5,9-12";

const TOOL_EXAMPLES: &str = "\
Examples:
  miles-dump -d /runs/a ids                          which steps there are
  miles-dump -d /runs/a summary latest               one row a sample of the newest step
  miles-dump tokens 12 3 | jq .lp_diff               from inside the run directory
  miles-dump joined 0-9 -o joined.parquet            ten steps for polars or pandas

Exit status: 0 ok, 2 error, 64 usage, 75 still being written (try again).";

/// Show what a run's dumps hold: samples, tokens, groups, steps, metrics.
///
/// Rows go to stdout: a table on a terminal, one JSON object a line in a pipe.
#[derive(Debug, Parser)]
#[command(name = "miles-dump", version, after_help = TOOL_EXAMPLES, max_term_width = 100)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub struct DumpArgs {
    /// Options of every tool.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Where summaries are kept [default: dashboard/cache in the run directory]
    #[arg(long, value_name = "DIR", global = true)]
    pub cache_dir: Option<PathBuf>,
    /// Neither read nor write kept summaries
    #[arg(long, global = true, conflicts_with = "cache_dir")]
    pub no_cache: bool,
    /// What to show.
    #[command(subcommand)]
    pub command: DumpCommand,
}

/// The commands of `miles-dump`.
#[derive(Debug, Subcommand)]
pub enum DumpCommand {
    /// One row a step: size, age, and whether it is still being written
    Ids(IdsArgs),
    /// One row a train step: number of samples and the eight dump/* metrics
    Steps(StepsArgs),
    /// One row a sample: reward, lengths, versions, and masked statistics of the train side
    Summary(SummaryArgs),
    /// One row a group (prompt): reward spread, lengths, zero-std groups
    Groups(GroupsArgs),
    /// One row a sample as it was dumped: every key but the per-token lists
    Samples(SamplesArgs),
    /// One row a sample: summary columns and the per-token lists of both sides
    Joined(JoinedArgs),
    /// One row a token of one sample: ids, text, log-probs, advantages
    Tokens(TokensArgs),
    /// One row a message of one sample's conversation
    Messages(MessagesArgs),
    /// One row a point of the run's metrics
    Metrics(MetricsArgs),
    /// The records of one telemetry stream
    Stream(StreamArgs),
    /// The tree of any torch file: path, type, dtype, shape, bytes; nothing in it is executed
    Inspect(InspectArgs),
}

/// `ids`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles-dump ids                                     table of the steps there are
  miles-dump ids --columns rollout_id,state          just ids and states")]
pub struct IdsArgs {}

/// `steps`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles-dump steps                                   how the run went, step by step
  miles-dump steps --columns rollout_id,dump/reward_mean -o reward.csv")]
pub struct StepsArgs {}

/// `summary`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles-dump summary latest
  miles-dump summary 3-7 | jq 'select(.mixed_version)'
  miles-dump summary 12 --eval --columns sample_index,reward")]
pub struct SummaryArgs {
    #[arg(value_name = "RID", help = RID_HELP)]
    /// Which steps.
    pub steps: Steps,
    /// The evaluation steps instead of the train steps
    #[arg(long)]
    pub eval: bool,
}

/// `groups`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles-dump groups latest
  miles-dump groups 0-9 | jq 'select(.zero_std)'     groups without a policy gradient")]
pub struct GroupsArgs {
    #[arg(value_name = "RID", help = RID_HELP)]
    /// Which steps.
    pub steps: Steps,
    /// The evaluation steps instead of the train steps
    #[arg(long)]
    pub eval: bool,
}

/// `samples`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles-dump samples 12 --columns index,reward,response
  miles-dump samples 12 --with tokens,loss_mask -o samples.parquet")]
pub struct SamplesArgs {
    #[arg(value_name = "RID", help = RID_HELP)]
    /// Which steps.
    pub steps: Steps,
    /// The evaluation steps instead of the train steps
    #[arg(long)]
    pub eval: bool,
    /// Per-token lists to add, such as tokens,loss_mask,rollout_log_probs
    #[arg(long, value_name = "KEY,…", value_delimiter = ',')]
    pub with: Vec<String>,
}

/// `joined`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles-dump joined 12 -o joined.parquet             lists of both sides, full response length
  miles-dump joined latest --columns sample_index,train_log_probs,rollout_log_probs")]
pub struct JoinedArgs {
    #[arg(value_name = "RID", help = RID_HELP)]
    /// Which steps.
    pub steps: Steps,
}

/// `tokens`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles-dump tokens 12 3                             all tokens of sample 3 in step 12
  miles-dump tokens latest 3 --start 100 --end 200 | jq .token_text
  miles-dump tokens 12 3 --object                    one object, as the web API answers")]
pub struct TokensArgs {
    #[arg(value_name = "RID", help = RID_HELP)]
    /// Which steps.
    pub steps: Steps,
    /// The sample's index (sample_index in other commands)
    #[arg(value_name = "SAMPLE", allow_negative_numbers = true)]
    pub sample: i64,
    /// First position in the whole sequence, prompt included [default: 0]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub start: Option<i64>,
    /// Position to stop before [default: the end]
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub end: Option<i64>,
    /// The evaluation step instead of the train step
    #[arg(long)]
    pub eval: bool,
    /// Print one JSON object with lists, as the web API answers, instead of rows
    #[arg(long, conflicts_with_all = ["format", "columns", "limit"])]
    pub object: bool,
}

/// `messages`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles-dump messages 12 3
  miles-dump messages 12 3 | jq -r '\"\\(.role): \\(.content)\"'")]
pub struct MessagesArgs {
    #[arg(value_name = "RID", help = RID_HELP)]
    /// Which steps.
    pub steps: Steps,
    /// The sample's index (sample_index in other commands)
    #[arg(value_name = "SAMPLE", allow_negative_numbers = true)]
    pub sample: i64,
    /// The evaluation step instead of the train step
    #[arg(long)]
    pub eval: bool,
}

/// `metrics`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles-dump metrics --keys 'perf/*,train/loss'
  miles-dump metrics --keys 'rollout/*' --x rollout/step -o rollout.parquet")]
pub struct MetricsArgs {
    /// Only metrics that match; * is any text, ? any character
    #[arg(long, value_name = "GLOB,…", value_delimiter = ',')]
    pub keys: Vec<String>,
    /// Only points counted by this step key, such as rollout/step
    #[arg(long, value_name = "STEP_KEY")]
    pub x: Option<String>,
    /// Points from here on: Unix seconds, -1h (before the newest record), or RFC 3339
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub t0: Option<String>,
    /// Points up to here
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub t1: Option<String>,
}

/// `stream`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles-dump stream gpu_util --t0 -1h --lanes node:node0
  miles-dump stream phases --t0 2026-01-31T08:00:00Z --t1 2026-01-31T09:00:00Z")]
pub struct StreamArgs {
    /// Name of the stream: metrics, phases, topology, gpu_util, gpu_processes, gpu_health, engine_series,
    /// trajectories, data_buffer
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Records from here on: Unix seconds, -1h (before the newest record), or RFC 3339
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub t0: Option<String>,
    /// Records up to here
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub t1: Option<String>,
    /// Only these lanes: rank:0-7, g:0-31, node:NAME, gpu:NODE:I, engine:ADDR, role:train|rollout,
    /// every:N, all
    #[arg(long, value_name = "SEL")]
    pub lanes: Option<String>,
}

/// `inspect`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles-dump inspect rollout_data/12.pt
  miles-dump inspect model.pt | jq 'select(.bytes > 1e6)'")]
pub struct InspectArgs {
    /// The file, of any origin
    #[arg(value_name = "FILE.pt")]
    pub file: PathBuf,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        DumpArgs::command().debug_assert();
    }

    #[test]
    fn common_options_go_before_or_after_the_command() {
        for line in ["miles-dump -d run summary 3 --limit 5", "miles-dump --limit 5 summary 3 -d run"] {
            let args = DumpArgs::try_parse_from(line.split(' ')).unwrap();
            assert_eq!(args.common.limit, Some(5));
            assert_eq!(args.common.dump_details, Some("run".into()));
        }
    }

    #[test]
    fn every_command_has_examples() {
        for command in DumpArgs::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{}", command.get_name());
        }
    }
}
