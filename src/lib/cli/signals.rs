//! What happens when the process is interrupted from outside, or by itself.
//!
//! Files are memory-mapped, so a file that another process cuts short raises SIGBUS here: that is
//! said in one line and ends with "try again". An interrupt removes the unfinished output file and
//! then ends the process as the signal would have. A panic is a bug, told in one line.

use std::io::{self, Write};
use std::panic;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::exit::Exit;
use crate::output::{escape_controls, remove_unfinished_file};

/// Line for SIGBUS, made beforehand: a signal handler may not allocate.
static SHRUNK: OnceLock<String> = OnceLock::new();

/// Installs the handlers and the panic hook for the tool called `tool`.
pub(super) fn install(tool: &'static str) {
    install_panic_hook(tool);
    SHRUNK.get_or_init(|| format!("{tool}: a file shrank while it was being read; hint: run again\n"));
    handle(libc::SIGBUS, on_bus_error);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        handle(signal, on_interrupt);
    }
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // One that the parent chose to ignore (nohup) stays ignored.
    if is_ignored(signal) {
        return;
    }
    // SAFETY: the struct is valid when zeroed (no flags, empty mask), and the handlers do nothing that is
    // not async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as libc::sighandler_t;
        // Nothing can be done if the system refuses; the default action then applies.
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

extern "C" fn on_bus_error(_signal: libc::c_int) {
    remove_unfinished_file();
    if let Some(line) = SHRUNK.get() {
        // SAFETY: write(2) and _exit(2) are async-signal-safe; the text lives for ever.
        unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
    }
    // SAFETY: as above.
    unsafe { libc::_exit(Exit::StillWriting.code().into()) }
}

extern "C" fn on_interrupt(signal: libc::c_int) {
    remove_unfinished_file();
    // SAFETY: all three are async-signal-safe. The signal is blocked while its handler runs and is
    // delivered, with its default action, on return; so the parent sees what really ended us.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Gives SIGINT, SIGTERM and SIGHUP back to the system. Whoever registers next would otherwise call the
/// handlers above as well. A SIGHUP that the parent chose to ignore (nohup) stays ignored.
fn release() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        if signal == libc::SIGHUP && is_ignored(signal) {
            continue;
        }
        // SAFETY: plain numbers; until the next registration the default action holds, as in any process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: the struct is valid when zeroed, and nothing is changed.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

/// For a tool that ends in order: what comes back turns true with the first SIGINT, SIGTERM or SIGHUP from
/// now on. A second one ends the process at once, after `clean`. To be called inside a tokio runtime.
///
/// # Errors
/// The system takes no handlers.
pub(super) fn told_to_end(clean: impl FnOnce() + Send + 'static) -> io::Result<watch::Receiver<bool>> {
    let hangs_up = !is_ignored(libc::SIGHUP);
    release();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = if hangs_up { Some(signal(SignalKind::hangup())?) } else { None };
    let (tell, told) = watch::channel(false);
    tokio::spawn(async move {
        let mut next = async || {
            let hung_up = async {
                match &mut hangup {
                    Some(hangup) => drop(hangup.recv().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                () = hung_up => {}
            }
        };
        next().await;
        tell.send_replace(true);
        next().await;
        clean();
        end_now();
    });
    Ok(told)
}

/// Ends the process at once, as an interrupt does: for whoever asks twice.
fn end_now() {
    remove_unfinished_file();
    // SAFETY: both take plain numbers. The default action ends the process.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_DFL);
        libc::raise(libc::SIGINT);
    }
}

fn install_panic_hook(tool: &'static str) {
    static TOLD: AtomicBool = AtomicBool::new(false);
    panic::set_hook(Box::new(move |info| {
        // Worker threads can fall over together; one line is enough.
        if TOLD.swap(true, Ordering::Relaxed) {
            return;
        }
        let what = info
            .payload()
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| info.payload().downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
        let line = format!(
            "{tool}: internal error{}: {}; hint: please report this line, the command and the file",
            place.unwrap_or_default(),
            escape_controls(what)
        );
        let mut stderr = std::io::stderr().lock();
        // A closed stderr must not turn one failure into two.
        let _ = writeln!(stderr, "{line}");
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            let _ = writeln!(stderr, "{}", std::backtrace::Backtrace::force_capture());
        }
    }));
}
