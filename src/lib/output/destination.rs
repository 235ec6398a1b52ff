//! Where bytes go: stdout, or a file that appears under its name only when it is whole.
//!
//! A file is written under a temporary name in the same folder and renamed at the end. If the tool
//! fails the temporary file is removed, and a signal handler can remove it with
//! [`remove_unfinished_file`]. Something that is no regular file (`/dev/null`, a FIFO) is written
//! in place, because a rename would replace it.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use tempfile::NamedTempFile;

use super::{OutputError, escape_controls};

/// Bytes gathered before they are handed to the system: large enough that a write call costs
/// nothing beside making the bytes, small enough to stay in the second-level cache.
const SPILL_AT: usize = 256 * 1024;

/// Path of the file being written, for the signal handler; null when there is none. The string is
/// leaked on purpose (one a process) so that the handler can never see freed memory.
static UNFINISHED: AtomicPtr<libc::c_char> = AtomicPtr::new(ptr::null_mut());

/// Removes the temporary file of an output that is being written, if there is one.
/// Safe to call from a signal handler: one atomic swap and one `unlink`.
pub fn remove_unfinished_file() {
    let path = UNFINISHED.swap(ptr::null_mut(), Ordering::AcqRel);
    if !path.is_null() {
        // SAFETY: the pointer came from `CString::into_raw` and is never freed.
        unsafe { libc::unlink(path) };
    }
}

enum Target {
    Stdout,
    /// Written under a temporary name, renamed to `path` at the end.
    Renamed {
        file: NamedTempFile,
        path: PathBuf,
    },
    /// A device or FIFO, written in place.
    InPlace(File),
    /// Anything else that takes bytes.
    Sink(Box<dyn Write + Send>),
}

/// A buffered place for bytes that knows its name, and whether its reader has gone.
pub(super) struct Destination {
    name: String,
    buffer: Vec<u8>,
    target: Option<Target>,
    before_first_byte: Option<Box<dyn FnOnce() + Send>>,
}

impl Destination {
    pub(super) fn stdout() -> Self {
        Self::over("stdout".into(), Target::Stdout)
    }

    pub(super) fn sink(sink: Box<dyn Write + Send>) -> Self {
        Self::over("output".into(), Target::Sink(sink))
    }

    /// Opens `path` for writing.
    pub(super) fn file(path: &Path) -> Result<Self, OutputError> {
        let name = escape_controls(&path.to_string_lossy());
        let failed = |source| OutputError::Io { destination: name.clone(), source };
        // A link stays a link: its target is what gets replaced.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&real) {
            Ok(meta) if meta.is_dir() => return Err(OutputError::IsDirectory { path: name }),
            Ok(meta) if !meta.is_file() => {
                let file = OpenOptions::new().write(true).open(&real).map_err(failed)?;
                return Ok(Self::over(name, Target::InPlace(file)));
            }
            _ => {}
        }
        let folder = match real.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(real.file_name().unwrap_or_default());
        prefix.push(".");
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".tmp")
            // The umask takes its share; the crate's own default would hide the file from others.
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|source| {
                let source = source.raw_os_error().map_or(source, io::Error::from_raw_os_error);
                OutputError::Io { destination: name.clone(), source }
            })?;
        if let Ok(text) = CString::new(file.path().as_os_str().as_bytes()) {
            UNFINISHED.store(text.into_raw(), Ordering::Release);
        }
        Ok(Self::over(name, Target::Renamed { file, path: real }))
    }

    fn over(name: String, target: Target) -> Self {
        Self { name, buffer: Vec::new(), target: Some(target), before_first_byte: None }
    }

    /// Name for messages: the path as given, or `stdout`.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self.target, Some(Target::Stdout)) && io::stdout().is_terminal()
    }

    /// Something to do once, just before the first byte leaves, such as taking a progress bar away.
    pub(super) fn before_first_byte(&mut self, action: Box<dyn FnOnce() + Send>) {
        self.before_first_byte = Some(action);
    }

    /// Bytes not yet handed on; writers append here and then call [`Self::spill_if_full`].
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Hands the buffer on when it is large.
    pub(super) fn spill_if_full(&mut self) -> Result<(), OutputError> {
        if self.buffer.len() < SPILL_AT {
            return Ok(());
        }
        self.spill_now()
    }

    /// Hands the buffer on.
    pub(super) fn spill_now(&mut self) -> Result<(), OutputError> {
        self.spill().map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> OutputError {
        OutputError::Io { destination: self.name.clone(), source }
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if let Some(action) = self.before_first_byte.take() {
            action();
        }
        let written = match &mut self.target {
            Some(Target::Stdout) => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(&self.buffer).and_then(|()| stdout.flush())
            }
            Some(Target::Renamed { file, .. }) => file.as_file_mut().write_all(&self.buffer),
            Some(Target::InPlace(file)) => file.write_all(&self.buffer),
            Some(Target::Sink(sink)) => sink.write_all(&self.buffer).and_then(|()| sink.flush()),
            None => Ok(()),
        };
        self.buffer.clear();
        // One row of long lists can be many megabytes: do not keep that for the next.
        self.buffer.shrink_to(4 * SPILL_AT);
        written
    }

    /// Hands everything on and gives a file its name.
    pub(super) fn commit(mut self) -> Result<(), OutputError> {
        self.spill().map_err(|source| self.error(source))?;
        if let Some(Target::Renamed { file, path }) = self.target.take() {
            file.persist(&path).map_err(|failed| self.error(failed.error))?;
            UNFINISHED.store(ptr::null_mut(), Ordering::Release);
        }
        Ok(())
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= SPILL_AT {
            self.spill()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // The encoders above flush where they like; bytes leave in large pieces and at the end.
        Ok(())
    }
}

impl Drop for Destination {
    /// An output that is dropped has failed. What was already whole still goes to a pipe, as with any
    /// filter; a file never appears.
    fn drop(&mut self) {
        match self.target {
            Some(Target::Renamed { .. }) => UNFINISHED.store(ptr::null_mut(), Ordering::Release),
            Some(_) => drop(self.spill()),
            None => {}
        }
    }
}
