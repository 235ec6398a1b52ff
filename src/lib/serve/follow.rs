//! Noticing that a run grows: told by the file system where it can, and looked for each second where it
//! cannot. inotify says nothing about what another machine writes to NFS.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::App;

/// Looked at least this often.
const POLL: Duration = Duration::from_secs(1);
/// And at most this often, however busily the run writes.
const PAUSE: Duration = Duration::from_millis(200);
/// Folders of a run, and whether theirs are watched too.
const FOLDERS: [(&str, RecursiveMode); 3] = [
    ("dashboard", RecursiveMode::Recursive),
    ("rollout_data", RecursiveMode::NonRecursive),
    ("train_data", RecursiveMode::NonRecursive),
];

/// Starts to follow, on a thread of its own that ends with the server.
///
/// # Errors
/// The system gives no thread.
pub(super) fn start(app: Arc<App>) -> std::io::Result<()> {
    std::thread::Builder::new().name("follow".into()).spawn(move || follow(&app)).map(drop)
}

fn follow(app: &App) {
    let (tell, told) = channel();
    let mut watched = Watched::new(app, tell);
    while !*app.stopping.borrow() {
        watched.add(&app.settings.run);
        // A bug that a file uncovers must not end the following of all others.
        if catch_unwind(AssertUnwindSafe(|| look(app))).is_err() {
            app.notes.once("looking for changes fell over; looking again");
        }
        wait(&told);
    }
}

fn look(app: &App) {
    for id in app.steps.refresh() {
        app.events.step(id);
    }
    match app.store.refresh() {
        Ok(changes) => {
            for stream in changes.streams {
                app.events.stream(stream.name(), app.store.version(stream));
            }
            if changes.documents {
                app.events.stream("meta", app.store.documents_version());
            }
        }
        Err(e) => app.notes.once(&e.to_string()),
    }
    app.tell_damage();
}

/// Until something happens, not before a pause is over; or until it is time to look.
fn wait(told: &Receiver<()>) {
    let started = Instant::now();
    match told.recv_timeout(POLL) {
        Ok(()) => {
            std::thread::sleep(PAUSE.saturating_sub(started.elapsed()));
            while told.try_recv().is_ok() {}
        }
        Err(RecvTimeoutError::Timeout) => {}
        // Without a watcher there is only the clock.
        Err(RecvTimeoutError::Disconnected) => std::thread::sleep(POLL),
    }
}

/// The watches, as far as the system grants them.
struct Watched {
    watcher: Option<RecommendedWatcher>,
    missing: Vec<(&'static str, RecursiveMode)>,
}

impl Watched {
    fn new(app: &App, tell: Sender<()>) -> Self {
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading is no news; our own reading would wake us for ever.
            if event.is_ok_and(|e| !e.kind.is_access()) {
                let _ = tell.send(());
            }
        });
        if let Err(e) = &watcher {
            app.notes
                .detail(&format!("changes are looked for each second, the system does not tell them: {e}"));
        }
        Self { watcher: watcher.ok(), missing: FOLDERS.to_vec() }
    }

    /// Watches those folders that are there by now. One that cannot be watched is looked at all the same.
    fn add(&mut self, run: &Path) {
        let Some(watcher) = &mut self.watcher else { return };
        self.missing.retain(|(name, mode)| {
            let folder = run.join(name);
            !folder.is_dir() || watcher.watch(&folder, *mode).is_err()
        });
    }
}
