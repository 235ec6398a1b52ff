//! Real files behind [`Disk`](super::append::Disk), and documents that are replaced as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::append::{Appendable, Disk};

/// The file system.
#[derive(Debug)]
pub(super) struct Files {
    /// Whether new names are brought to the disk too.
    pub sync: bool,
}

impl Disk for Files {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Appendable>> {
        let open = |new| OpenOptions::new().read(true).append(true).create_new(new).open(path);
        let file = match open(false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = folder_of(path);
                fs::create_dir_all(folder)?;
                let file = open(true).or_else(|_| open(false))?;
                if self.sync {
                    sync_folder(folder)?;
                }
                file
            }
            opened => opened?,
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        Ok(Box::new(Opened(file)))
    }
}

struct Opened(File);

impl Appendable for Opened {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn last(&self, length: u64) -> io::Result<Option<u8>> {
        let Some(at) = length.checked_sub(1) else { return Ok(None) };
        let mut byte = [0];
        self.0.read_exact_at(&mut byte, at)?;
        let [byte] = byte;
        Ok(Some(byte))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        // The standard library ignores what close says.
        // SAFETY: the descriptor is ours and is not used again.
        match unsafe { libc::close(self.0.into_raw_fd()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()).or_else(|error| match error.kind() {
                // Closed all the same.
                io::ErrorKind::Interrupted => Ok(()),
                _ => Err(error),
            }),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Replaces the document at `path`: readers see the old one or the new one.
pub(super) fn replace(path: &Path, text: &[u8], sync: bool) -> io::Result<()> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".");
    let mut file = tempfile::Builder::new()
        .prefix(&name)
        .suffix(".tmp")
        // The umask takes its share; the crate's own default would hide the file from others.
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(plain)?;
    file.write_all(text).map_err(plain)?;
    if sync {
        file.as_file().sync_all()?;
    }
    file.persist(path).map_err(|failed| failed.error)?;
    if sync { sync_folder(folder) } else { Ok(()) }
}

/// Without the temporary name, which tells nobody anything.
fn plain(error: io::Error) -> io::Error {
    error.raw_os_error().map_or(error, io::Error::from_raw_os_error)
}

/// What a killed process left of [`replace`] of the document at `path`.
pub(super) fn leftovers(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(folder_of(path)) else { return Vec::new() };
    let ours = |entry: &fs::DirEntry| {
        let found = entry.file_name();
        let found = found.to_str().and_then(|found| found.strip_prefix('.')?.strip_prefix(name));
        found.is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".tmp"))
    };
    entries.flatten().filter(ours).map(|entry| entry.path()).collect()
}
