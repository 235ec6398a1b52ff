//! `miles`: one name for all tools (`miles dump …` is `miles-dump …`), completions and man pages.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::collect::{self, CollectArgs};
use super::demo::{self, DemoArgs};
use super::dump;
use super::dump::args::DumpArgs;
use super::exit::{CliError, Exit};
use super::sample::{self, SampleArgs};
use super::scrape::{self, ScrapeArgs};
use super::serve::{self, ServeArgs};
use crate::output::Options;

/// The tool's name in messages.
pub const TOOL: &str = "miles";

/// Tools for the run directories of miles, an RL post-training framework.
#[derive(Debug, Parser)]
#[command(name = "miles", version, max_term_width = 100)]
#[command(arg_required_else_help = true, subcommand_required = true)]
#[command(after_help = "miles TOOL … is the same as miles-TOOL …; miles TOOL --help has examples.")]
pub struct MilesArgs {
    /// Which tool.
    #[command(subcommand)]
    pub command: MilesCommand,
}

/// The tools and what belongs to all of them.
#[derive(Debug, Subcommand)]
pub enum MilesCommand {
    /// Show what a run's dumps hold (miles-dump)
    Dump(Box<DumpArgs>),
    /// Read the GPUs of this host, as records on stdout (miles-sample)
    Sample(Box<SampleArgs>),
    /// Read the metrics of sglang engines, as records on stdout (miles-scrape)
    Scrape(Box<ScrapeArgs>),
    /// Write records from stdin and sockets to a run's streams (miles-collect)
    Collect(Box<CollectArgs>),
    /// Write a synthetic run to try the tools on
    Demo(DemoArgs),
    /// Serve a run over HTTP: the API and its pages
    Serve(Box<ServeArgs>),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Write man pages, one a tool and command
    Man(ManArgs),
}

/// `miles completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles completions bash > ~/.local/share/bash-completion/completions/miles
  miles completions bash --tool miles-dump > ~/.local/share/bash-completion/completions/miles-dump")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
    /// For which binary
    #[arg(long, value_enum, default_value = "miles")]
    pub tool: Tool,
}

/// `miles man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  miles man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Directory for the pages; made if it is not there
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

/// The binaries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tool {
    /// `miles`.
    #[value(name = "miles")]
    Miles,
    /// `miles-dump`.
    #[value(name = "miles-dump")]
    Dump,
    /// `miles-sample`.
    #[value(name = "miles-sample")]
    Sample,
    /// `miles-scrape`.
    #[value(name = "miles-scrape")]
    Scrape,
    /// `miles-collect`.
    #[value(name = "miles-collect")]
    Collect,
}

/// Runs a tool by its name.
///
/// # Errors
/// What is printed on stderr, with the exit status.
pub fn run(args: MilesArgs) -> Result<Exit, CliError> {
    match args.command {
        MilesCommand::Dump(args) => dump::run(*args),
        MilesCommand::Sample(args) => sample::run(*args),
        MilesCommand::Scrape(args) => scrape::run(*args),
        MilesCommand::Collect(args) => collect::run(*args),
        MilesCommand::Demo(args) => demo::run(&args),
        MilesCommand::Serve(args) => serve::run(&args),
        MilesCommand::Completions(args) => completions(&args),
        MilesCommand::Man(args) => man(&args.dir),
    }
}

fn completions(args: &CompletionsArgs) -> Result<Exit, CliError> {
    let (mut command, name) = match args.tool {
        Tool::Miles => (MilesArgs::command(), TOOL),
        Tool::Dump => (DumpArgs::command(), dump::TOOL),
        Tool::Sample => (SampleArgs::command(), sample::TOOL),
        Tool::Scrape => (ScrapeArgs::command(), scrape::TOOL),
        Tool::Collect => (CollectArgs::command(), collect::TOOL),
    };
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    if args.shell == Shell::Bash {
        script = with_dashed_name(script, name);
    }
    Options::default().write_document(&script)?;
    Ok(Exit::Ok)
}

/// The bash generator names a subcommand of a tool whose own name has a dash in two ways, so that nothing
/// completes behind it: the labels say `miles__subcmd__dump` where the variable says `miles__dump`.
fn with_dashed_name(script: Vec<u8>, name: &str) -> Vec<u8> {
    let Some((first, second)) = name.split_once('-') else { return script };
    let label = format!("{first}__subcmd__{second}__subcmd__");
    String::from_utf8_lossy(&script).replace(&label, &format!("{first}__{second}__subcmd__")).into_bytes()
}

fn man(dir: &Path) -> Result<Exit, CliError> {
    let failed = |path: &Path, error: std::io::Error| {
        CliError::new(format!("{}: {error}", path.display())).with_hint("name a folder that you may write to")
    };
    fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    for (name, page) in man_pages() {
        let path = dir.join(name);
        fs::write(&path, page).map_err(|error| failed(&path, error))?;
    }
    Ok(Exit::Ok)
}

/// All man pages: file name and text. `miles dump` is described by the pages of `miles-dump`.
pub fn man_pages() -> Vec<(String, Vec<u8>)> {
    let mut pages = Vec::new();
    let miles = MilesArgs::command();
    add_page(&mut pages, miles.clone(), TOOL);
    for command in miles.get_subcommands().filter(|command| command.get_name() != "dump") {
        add_page(&mut pages, command.clone(), &format!("{TOOL}-{}", command.get_name()));
    }
    // Building passes the options of every tool on to each command's page.
    let mut tool = DumpArgs::command();
    tool.build();
    add_page(&mut pages, tool.clone(), dump::TOOL);
    for command in tool.get_subcommands().filter(|command| command.get_name() != "help") {
        add_page(&mut pages, command.clone(), &format!("{}-{}", dump::TOOL, command.get_name()));
    }
    pages
}

fn add_page(pages: &mut Vec<(String, Vec<u8>)>, command: Command, name: &str) {
    // clap wants a name that lives as long as the command; a handful is leaked in a process that ends.
    let title: &'static str = name.to_owned().leak();
    let command = command.name(title).version(env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    if clap_mangen::Man::new(command).render(&mut page).is_ok() {
        pages.push((format!("{name}.1"), page));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        MilesArgs::command().debug_assert();
    }

    #[test]
    fn there_is_a_page_for_every_tool_and_command() {
        let names: Vec<String> = man_pages().into_iter().map(|(name, _)| name).collect();
        for name in ["miles.1", "miles-man.1", "miles-dump.1", "miles-dump-tokens.1"] {
            assert!(names.iter().any(|have| have == name), "{name} is not among {names:?}");
        }
    }
}
