//! One collector a run: a lock that the kernel drops with its holder, and a file that names the holder.
//!
//! The lock is an advisory one on `dashboard/collect.lock`, which NFS passes on to its server where that is
//! set up. Where it is not, locks of another host are invisible; so the file also says who holds it, and the
//! holder touches it every few seconds. Rules for whoever comes next:
//!
//! - the lock is held: refused;
//! - it is free, and the file names a process of this boot of this host: that process is dead, taken over;
//! - it is free, and the file names another host: refused while the file was touched lately, else taken over.
//!
//! How long ago a file was touched is told by a file that is made beside it, so that both times come from the
//! clock of the file server.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::now;

/// Its name under `dashboard`.
const NAME: &str = "collect.lock";

/// How often the holder touches the file.
pub(super) const BEAT: Duration = Duration::from_secs(5);

/// A holder on another host that did not touch the file for so long is gone: six beats, of which a slow
/// file server may lose some.
const STALE: Duration = Duration::from_secs(30);

/// How long a lock may outlive its holder: the kernel takes a killed process apart after its parent could
/// start the next.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_STEP: Duration = Duration::from_millis(20);

/// Length of the file's text; a host name has at most 255 bytes.
const LENGTH: usize = 512;

/// Longest content of the file that is looked at.
const MOST: u64 = 4096;

/// Why a run cannot be collected now.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody collects it.
    #[error("{}: {holder} collects this run already", path.display())]
    Held {
        /// The file.
        path: PathBuf,
        /// Who.
        holder: String,
        /// What can be done about it.
        hint: String,
    },
    /// The file cannot be made or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Who holds the lock, as the file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Holder {
    host: String,
    pid: u32,
    /// Differs from boot to boot and from host to host, where two can have one name.
    boot: String,
    started: f64,
    heartbeat: f64,
    /// Ended in order.
    released: bool,
}

impl Holder {
    fn of_this_process() -> Self {
        let text = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned());
        Self {
            host: host(),
            pid: std::process::id(),
            boot: text("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
            started: now(),
            heartbeat: now(),
            released: false,
        }
    }

    fn shown(&self) -> String {
        let since = jiff::Timestamp::from_second(self.started as i64);
        let since = since.map(|at| format!(", since {at}")).unwrap_or_default();
        format!("process {} on {}{since}", self.pid, self.host)
    }

    fn is(&self, other: &Self) -> bool {
        (&self.host, self.pid, &self.boot, self.started.to_bits())
            == (&other.host, other.pid, &other.boot, other.started.to_bits())
    }
}

fn host() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer is ours and its length is given.
    let said = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    match name.get(..end) {
        Some(name) if said == 0 => String::from_utf8_lossy(name).into_owned(),
        _ => "unknown".to_owned(),
    }
}

/// What the kernel answers to a wish for the lock.
enum Wish {
    Granted,
    Refused,
    /// No locks on this file system.
    Unknown,
}

fn wish(file: &File) -> io::Result<Wish> {
    // SAFETY: the struct is valid when zeroed; the lock is on the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    // Of the open file, not of the process: closing another descriptor of it does not end it.
    #[cfg(target_os = "linux")]
    let command = libc::F_OFD_SETLK;
    #[cfg(not(target_os = "linux"))]
    let command = libc::F_SETLK;
    // SAFETY: the descriptor is open and the struct lives through the call.
    if unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) } == 0 {
        return Ok(Wish::Granted);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(Wish::Refused),
        Some(libc::ENOLCK | libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP) => Ok(Wish::Unknown),
        _ => Err(error),
    }
}

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    file: File,
    me: Holder,
    /// Whether whoever held it last ended in order.
    pub after_order: bool,
}

impl Lock {
    /// Takes the lock of the run whose telemetry is under `dashboard`.
    pub(super) fn take(dashboard: &Path) -> Result<Self, LockError> {
        let path = dashboard.join(NAME);
        let failed = |source| LockError::Io { path: path.clone(), source };
        let me = Holder::of_this_process();
        let began = Instant::now();
        loop {
            let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
            let file = options.map_err(failed)?;
            let wish = wish(&file).map_err(failed)?;
            let old = read(&file);
            if matches!(wish, Wish::Refused) {
                // Whoever is dead will let go in a moment.
                if began.elapsed() < LINGER && old.as_ref().is_none_or(|old| old.boot == me.boot) {
                    thread::sleep(LINGER_STEP);
                    continue;
                }
                return Err(held(&path, old, "stop that one first, or send records to it with --listen"));
            }
            // Somebody may have taken the file away between the two calls.
            if !is_at(&file, &path) {
                thread::sleep(LINGER_STEP);
                continue;
            }
            if let Some(old) = old.as_ref().filter(|old| !old.released) {
                let alive = match wish {
                    _ if old.boot != me.boot => age(&file, &path) < STALE,
                    Wish::Granted => false,
                    _ => is_running(old.pid),
                };
                if alive {
                    let wait = STALE.saturating_sub(age(&file, &path)).as_secs() + 1;
                    let hint = format!(
                        "stop that one first; if its host is gone, start again in {wait} s or remove this file"
                    );
                    return Err(held(&path, Some(old.clone()), &hint));
                }
            }
            let after_order = old.is_none_or(|old| old.released);
            let mut lock = Self { path: path.clone(), file, me, after_order };
            // A full disk is no reason to collect nothing: the kernel's lock is held.
            let _ = lock.write();
            return Ok(lock);
        }
    }

    /// Says that the holder lives. An error names whoever has taken the lock over.
    pub(super) fn beat(&mut self) -> Result<(), LockError> {
        if !is_at(&self.file, &self.path) {
            // Taken away, by somebody who thought that we are gone: take it again, or give way.
            let folder = self.path.parent().unwrap_or(Path::new("."));
            *self = Self { after_order: self.after_order, ..Self::take(folder)? };
            return Ok(());
        }
        if let Some(other) = read(&self.file).filter(|holder| !holder.is(&self.me)) {
            return Err(held(&self.path, Some(other), "this host did not answer in time"));
        }
        // A disk that fails is told by whoever writes records.
        let _ = self.write();
        Ok(())
    }

    /// Ends in order.
    pub(super) fn release(mut self) {
        if is_at(&self.file, &self.path) && read(&self.file).is_none_or(|holder| holder.is(&self.me)) {
            self.me.released = true;
            let _ = self.write();
        }
    }

    /// Gives it back when nothing was collected under it. After a holder that was killed the file still
    /// names nobody who ended in order, so that the next start says whose work it goes on with.
    pub(super) fn give_back(self) {
        if self.after_order {
            self.release();
        }
    }

    fn write(&mut self) -> io::Result<()> {
        self.me.heartbeat = now();
        let mut text = serde_json::to_vec(&self.me)?;
        // Of one length always, so that a reader in between sees no end of an older text.
        text.resize(LENGTH.max(text.len()), b' ');
        text.push(b'\n');
        self.file.write_all_at(&text, 0)
    }
}

fn held(path: &Path, holder: Option<Holder>, hint: &str) -> LockError {
    let holder = match holder {
        Some(holder) if !holder.released => holder.shown(),
        _ => "another collector that has just started".to_owned(),
    };
    LockError::Held { path: path.to_owned(), holder, hint: hint.to_owned() }
}

/// Whom the file names; nobody when it is new or was cut while it was written.
fn read(file: &File) -> Option<Holder> {
    let mut bytes = vec![0; MOST as usize];
    let mut reader = Positioned(file, 0).take(MOST);
    let mut length = 0;
    while let Ok(count @ 1..) = reader.read(bytes.get_mut(length..)?) {
        length += count;
    }
    serde_json::from_slice(bytes.get(..length)?).ok()
}

/// Reads a file from its start without moving its position.
struct Positioned<'a>(&'a File, u64);

impl Read for Positioned<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read_at(out, self.1)?;
        self.1 += count as u64;
        Ok(count)
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(ours), Ok(there)) => identity(ours) == identity(there),
        // A disk that does not answer takes no lock away.
        (_, Err(error)) => error.kind() != io::ErrorKind::NotFound,
        (Err(_), _) => true,
    }
}

/// How long ago the file was touched, by the clock of whoever keeps it.
fn age(file: &File, path: &Path) -> Duration {
    let folder = path.parent().unwrap_or(Path::new("."));
    let touched = |file: &File| file.metadata().and_then(|meta| meta.modified());
    let there = tempfile::tempfile_in(folder).and_then(|probe| {
        probe.write_all_at(b"?", 0)?;
        touched(&probe)
    });
    let then = touched(file).unwrap_or(SystemTime::UNIX_EPOCH);
    there.unwrap_or_else(|_| SystemTime::now()).duration_since(then).unwrap_or_default()
}

fn is_running(pid: u32) -> bool {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return false };
    // SAFETY: signal 0 asks whether the process is there and does nothing else.
    let said = unsafe { libc::kill(pid, 0) };
    said == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(folder: &Path, change: impl FnOnce(&mut Holder)) {
        let mut holder = Holder::of_this_process();
        change(&mut holder);
        fs::write(folder.join(NAME), serde_json::to_vec(&holder).unwrap()).unwrap();
    }

    fn touched(folder: &Path, ago: Duration) {
        let file = File::options().write(true).open(folder.join(NAME)).unwrap();
        file.set_modified(SystemTime::now() - ago).unwrap();
    }

    #[test]
    fn two_are_refused_and_the_holder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        assert!(first.after_order);
        let error = Lock::take(folder.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("process {} on {}", std::process::id(), host())), "{error}");
        first.release();
        assert!(Lock::take(folder.path()).unwrap().after_order);
    }

    #[test]
    fn the_lock_of_a_dead_process_of_this_host_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), |holder| holder.pid = 1);
        assert!(!Lock::take(folder.path()).unwrap().after_order);
        // One that was dropped without a word, as by a kill.
        assert!(!Lock::take(folder.path()).unwrap().after_order);
    }

    #[test]
    fn a_holder_elsewhere_counts_while_it_gives_signs_of_life() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = |holder: &mut Holder| {
            holder.host = "node-7".to_owned();
            holder.boot = "another".to_owned();
        };
        put(folder.path(), elsewhere);
        let Err(LockError::Held { holder, hint, .. }) = Lock::take(folder.path()) else { panic!("taken") };
        assert!(holder.contains("node-7") && hint.contains("start again in"), "{holder} {hint}");
        touched(folder.path(), STALE + Duration::from_secs(1));
        assert!(!Lock::take(folder.path()).unwrap().after_order);
        put(folder.path(), |holder| {
            elsewhere(holder);
            holder.released = true;
        });
        assert!(Lock::take(folder.path()).unwrap().after_order);
    }

    #[test]
    fn a_holder_that_was_replaced_gives_way() {
        let folder = tempfile::tempdir().unwrap();
        let mut lock = Lock::take(folder.path()).unwrap();
        lock.beat().unwrap();
        put(folder.path(), |holder| holder.host = "node-7".to_owned());
        let error = lock.beat().unwrap_err().to_string();
        assert!(error.contains("node-7"), "{error}");
        lock.release();
        assert!(fs::read_to_string(folder.path().join(NAME)).unwrap().contains("node-7"));
    }

    #[test]
    fn a_file_that_was_removed_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut lock = Lock::take(folder.path()).unwrap();
        fs::remove_file(folder.path().join(NAME)).unwrap();
        lock.beat().unwrap();
        assert!(Lock::take(folder.path()).is_err());
        lock.beat().unwrap();
    }

    #[test]
    fn half_a_file_names_nobody() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), "{\"host\":").unwrap();
        assert!(Lock::take(folder.path()).is_ok());
    }
}
