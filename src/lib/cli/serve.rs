//! `miles serve`: the run over HTTP. Checks the arguments, binds the port, prints the links, and stays
//! until it is told to stop.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use clap::{ArgAction, Args};
use tempfile::TempDir;
use tokio::net::{TcpListener, lookup_host};
use tokio::sync::watch;

use super::common::{ColorWhen, CommonArgs, Settings as Common};
use super::context::{Context, say};
use super::exit::{CliError, Exit};
use super::signals;
use crate::demo;
use crate::serve::access::Token;
use crate::serve::{Access, App, Level, Notes, Settings, listen, router, shrunk};

/// The tool's name in messages.
const TOOL: &str = "miles serve";
/// Names the run directory where no argument does.
const RUN_VARIABLE: &str = "MILES_DUMP_DETAILS";
/// Names the token, where a command line would show it to everybody on the machine.
const TOKEN_VARIABLE: &str = "MILES_TOKEN";

/// `miles serve`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Prints http://HOST:PORT/ on stdout when it listens, the links for people on stderr, and ends with 0
on SIGINT, SIGTERM or SIGHUP. Whoever does not come over loopback needs the token in the printed link. docs/http.md describes the API.

Examples:
  miles serve -d /runs/a --follow                    a run that is being written
  miles serve --demo --open                          something to look at
  miles serve -d /runs/a --host 127.0.0.1 --port 0   only for this machine, on any free port
  curl -s localhost:7788/api/meta | jq .rollout_ids")]
pub struct ServeArgs {
    // The environment is read by hand here and for the token: the parser would let it conflict with --demo
    // and --no-auth, which win over it.
    /// Run directory: what the job was given as --dump-details [default: the working directory, if it
    /// looks like a run] [env: MILES_DUMP_DETAILS]
    #[arg(short, long, value_name = "DIR")]
    pub dump_details: Option<OsString>,
    /// The run is being written: look for what is new
    #[arg(long)]
    pub follow: bool,
    /// Port; 0 is any that is free
    #[arg(long, value_name = "PORT", default_value_t = 7788)]
    pub port: u16,
    /// Name or address to listen on
    #[arg(long, value_name = "HOST", default_value = "0.0.0.0")]
    pub host: String,
    /// Steps that are held open
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub tensor_lru: usize,
    /// Where summaries of steps and columns of streams are kept; nothing is written elsewhere [default:
    /// dashboard/cache in the run directory]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Let the page open with the utilization overview
    #[arg(long)]
    pub use_utilization_overview: bool,
    /// Mean MFU below which advice is given; 0 gives none
    #[arg(long, value_name = "FRACTION", default_value_t = 0.15, allow_negative_numbers = true)]
    pub low_mfu_threshold: f64,
    /// Serve a synthetic run, which is gone afterwards
    #[arg(long, conflicts_with_all = ["dump_details", "cache_dir"])]
    pub demo: bool,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
    /// The token that other machines need [default: a new one each time]; MILES_TOKEN keeps it out of
    /// the list of processes [env: MILES_TOKEN]
    #[arg(long, value_name = "TOKEN", conflicts_with = "no_auth")]
    pub token: Option<String>,
    /// Let everybody who reaches the port read the run
    #[arg(long)]
    pub no_auth: bool,
    /// Say nothing on stderr but errors and the links
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log each request on stderr
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}

/// Serves until a signal ends it.
///
/// # Errors
/// No run directory, a port that is taken, an address that is not ours.
pub fn run(args: &ServeArgs) -> Result<Exit, CliError> {
    if !(0.0..=1.0).contains(&args.low_mfu_threshold) {
        return Err(CliError::usage("--low-mfu-threshold is a fraction, 0 to 1"));
    }
    shrunk::survive();
    let access = access(args)?;
    let notes = notes(args);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().max_blocking_threads(64).build();
    let runtime = runtime.map_err(|e| CliError::new(format!("no threads to serve with: {e}")))?;
    // Bound first: a demo run takes a second to write, and a port that is taken is known at once.
    let listener = runtime.block_on(bind(&args.host, args.port))?;
    let address = listener.local_addr().map_err(|e| CliError::new(format!("{}: {e}", args.host)))?;
    // Waited for before there is a demo folder, so that none stays behind.
    let demo_folder = Arc::new(OnceLock::new());
    let folder = Arc::clone(&demo_folder);
    let told = runtime.block_on(async { signals::told_to_end(move || remove(folder.get())) });
    let mut told = told.map_err(|e| CliError::new(format!("no signals: {e}")))?;
    // Held until the end, when it is removed.
    let demo = if args.demo { Some(write_demo(args, &demo_folder)?) } else { None };
    if *told.borrow_and_update() {
        return Ok(Exit::Ok);
    }
    let run = match &demo {
        Some(folder) => folder.path().to_owned(),
        None => run_dir(args)?,
    };
    let settings = Settings {
        run,
        follow: args.follow,
        tensor_lru: args.tensor_lru,
        cache_dir: args.cache_dir.clone(),
        use_utilization_overview: args.use_utilization_overview,
        low_mfu_threshold: args.low_mfu_threshold,
        access: access.clone(),
    };
    let app = App::open(settings, notes)?;
    app.follow().map_err(|e| CliError::new(format!("no thread to follow the run with: {e}")))?;
    let links = Links::new(address, &args.host, &access);
    links.print(args);
    if args.open {
        open_browser(links.for_browser());
    }
    runtime.block_on(async {
        let stop = ended(Arc::clone(&app), told, args.quiet);
        listen::serve(listener, router(Arc::clone(&app)), stop).await;
    });
    // Work that nobody waits for any more does not hold up the end.
    runtime.shutdown_background();
    Ok(Exit::Ok)
}

fn access(args: &ServeArgs) -> Result<Access, CliError> {
    if args.no_auth {
        return Ok(Access::Anybody);
    }
    let given = args.token.clone().map(OsString::from).or_else(|| std::env::var_os(TOKEN_VARIABLE));
    let token = match given {
        Some(text) => text.to_str().and_then(Token::new).ok_or_else(|| {
            let whose = if args.token.is_some() { "--token" } else { TOKEN_VARIABLE };
            CliError::usage(format!("{whose} is not 1 to 256 letters, digits, '-', '_', '.' or '~'"))
                .with_hint("leave it out and one is made")
        })?,
        None => Token::random().map_err(|e| CliError::new(format!("no random token: {e}")))?,
    };
    Ok(Access::Token(token))
}

fn notes(args: &ServeArgs) -> Notes {
    let (quiet, verbose) = (args.quiet, args.verbose);
    Notes::new(move |level, line| match level {
        Level::Warning if !quiet => say(TOOL, &format!("warning: {line}")),
        Level::Detail if verbose > 0 => say(TOOL, line),
        _ => {}
    })
}

fn run_dir(args: &ServeArgs) -> Result<PathBuf, CliError> {
    let common = CommonArgs {
        dump_details: args.dump_details.clone().or_else(|| std::env::var_os(RUN_VARIABLE)),
        format: None,
        output: None,
        columns: None,
        limit: None,
        color: ColorWhen::Never,
        quiet: args.quiet,
        verbose: args.verbose,
    };
    Context::new(TOOL, Common::new(common)?).run_dir()
}

fn write_demo(args: &ServeArgs, made: &OnceLock<PathBuf>) -> Result<TempDir, CliError> {
    let folder = tempfile::Builder::new().prefix("miles-demo-").tempdir();
    let folder = folder.map_err(|e| CliError::new(format!("no folder for the demo run: {e}")))?;
    made.get_or_init(|| folder.path().to_owned());
    demo::write(folder.path(), &demo::Settings::default(), || ())?;
    if !args.quiet {
        say(TOOL, &format!("{}: a synthetic run, removed when the server ends", folder.path().display()));
    }
    Ok(folder)
}

async fn bind(host: &str, port: u16) -> Result<TcpListener, CliError> {
    let plain = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let addresses = lookup_host((plain, port)).await.map_err(|e| {
        CliError::usage(format!("--host {host}: {e}")).with_hint("0.0.0.0 is every address of this machine")
    })?;
    let mut failed = None;
    for address in addresses {
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(e) => failed = Some((address, e)),
        }
    }
    Err(match failed {
        Some((address, e)) if e.kind() == io::ErrorKind::AddrInUse => {
            CliError::new(format!("{address}: the port is taken"))
                .with_hint("--port 0 takes any that is free")
        }
        Some((address, e)) => CliError::new(format!("{address}: {e}")),
        None => CliError::usage(format!("--host {host}: no address")),
    })
}

/// Addresses of the server, as people and scripts use them.
struct Links {
    /// For scripts, without the token.
    plain: String,
    /// For a client on this machine; none where it needs the token as others do.
    here: Option<String>,
    /// For others, with the token; none where they cannot come.
    elsewhere: Option<String>,
}

impl Links {
    fn new(bound: SocketAddr, host: &str, access: &Access) -> Self {
        let port = bound.port();
        let ip = bound.ip();
        let link = |host: &str| format!("http://{host}:{port}/");
        let with_token = |link: String| match access {
            Access::Anybody => link,
            Access::Token(token) => format!("{link}?token={}", token.reveal()),
        };
        if ip.is_unspecified() {
            let here = link(if ip.is_ipv4() { "127.0.0.1" } else { "[::1]" });
            let outward = listen::outward_address().map(shown);
            let elsewhere = outward.unwrap_or_else(|| "THIS-MACHINE".to_owned());
            let elsewhere = Some(with_token(link(&elsewhere)));
            return Self { plain: here.clone(), here: Some(here), elsewhere };
        }
        let named =
            if host.parse::<IpAddr>().is_ok() || host.starts_with('[') { shown(ip) } else { host.to_owned() };
        if ip.to_canonical().is_loopback() {
            let here = link(&shown(ip));
            return Self { plain: here.clone(), here: Some(here), elsewhere: None };
        }
        // From this machine too the connection comes from that address, not from loopback.
        let plain = link(&named);
        let here = matches!(access, Access::Anybody).then(|| plain.clone());
        Self { elsewhere: Some(with_token(plain.clone())), plain, here }
    }

    /// One line for scripts on stdout, the rest for people on stderr.
    fn print(&self, args: &ServeArgs) {
        let mut out = io::stdout().lock();
        // A closed stdout is nobody's problem: the port is open.
        let _ = writeln!(out, "{}", self.plain).and_then(|()| out.flush());
        match (&self.here, &self.elsewhere) {
            (Some(here), elsewhere) => {
                say(TOOL, &format!("on this machine: {here}"));
                if let Some(link) = elsewhere {
                    say(TOOL, &format!("from elsewhere:  {link}"));
                }
            }
            (None, Some(link)) => {
                say(TOOL, &format!("with the token: {link}"));
                say(TOOL, "this address is not loopback: the token is needed on this machine too");
            }
            (None, None) => {}
        }
        if args.no_auth {
            say(TOOL, "warning: --no-auth: everybody who reaches the port can read the run");
        }
    }

    /// What a browser on this machine can open.
    fn for_browser(&self) -> &str {
        self.here.as_ref().or(self.elsewhere.as_ref()).unwrap_or(&self.plain)
    }
}

/// An address as a URL has it.
fn shown(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// Without a browser there is still the printed link.
fn open_browser(link: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(opener)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        // Waited for, so that it does not stay behind as a zombie.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(e) => say(TOOL, &format!("warning: no browser opened: {opener}: {e}")),
    }
}

/// Comes back when the server is to end.
async fn ended(app: Arc<App>, mut told: watch::Receiver<bool>, quiet: bool) {
    // Whoever tells lives as long as the runtime.
    let _ = told.wait_for(|&told| told).await;
    if !quiet {
        say(TOOL, "stopping");
    }
    app.stop();
}

/// Removes the demo run while it may still be written: what is added meanwhile makes another try needed.
fn remove(folder: Option<&PathBuf>) {
    for _ in 0..20 {
        if folder.is_none_or(|folder| std::fs::remove_dir_all(folder).is_ok()) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_needs_the_token_has_it() {
        let bound: SocketAddr = "10.0.0.7:7788".parse().unwrap();
        let links = Links::new(bound, "node7", &Access::Token(Token::new("t").unwrap()));
        assert_eq!((links.plain.as_str(), links.here.as_deref()), ("http://node7:7788/", None));
        assert_eq!(links.for_browser(), "http://node7:7788/?token=t");
        let links = Links::new(bound, "10.0.0.7", &Access::Anybody);
        assert_eq!(links.here.as_deref(), Some("http://10.0.0.7:7788/"));
        let bound = "127.0.0.1:7788".parse().unwrap();
        let links = Links::new(bound, "localhost", &Access::Token(Token::new("t").unwrap()));
        assert_eq!((links.here.as_deref(), links.elsewhere), (Some("http://127.0.0.1:7788/"), None));
    }
}
