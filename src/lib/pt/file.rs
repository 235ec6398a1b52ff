//! An opened torch file: the archive and what its pickle built.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::archive::Archive;
use super::arena::Arena;
use super::error::{Error, Fault};
use super::pickle;
use super::value::Ref;
use super::{ErrorKind, Limits};

/// A torch file whose pickle has been run. Tensors stay in the mapped file until they are read.
#[derive(Debug)]
pub struct File {
    archive: Archive,
    pickle: Pickle,
    pub(super) arena: Arena,
    limits: Limits,
    replaced: AtomicU64,
}

#[derive(Debug)]
enum Pickle {
    Mapped { at: u64, len: u64 },
    Inflated(Vec<u8>),
}

impl File {
    /// Opens a file with the default [`Limits`].
    ///
    /// # Errors
    /// [`Error`] with the path and, where known, the byte offset: not a torch file, truncated,
    /// corrupt, over a limit.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, &Limits::default())
    }

    /// Opens a file with limits of one's own.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn open_with(path: impl AsRef<Path>, limits: &Limits) -> Result<Self, Error> {
        Self::from_archive(Archive::open(path.as_ref())?, limits)
    }

    /// Reads a file that is in memory already: fetched from an object store, made by a test. `name`
    /// stands for its path in errors.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn from_bytes(name: impl AsRef<Path>, bytes: Vec<u8>, limits: &Limits) -> Result<Self, Error> {
        Self::from_archive(Archive::from_bytes(name.as_ref(), bytes)?, limits)
    }

    fn from_archive(archive: Archive, limits: &Limits) -> Result<Self, Error> {
        let fail = |fault: Fault| fault.in_file(archive.path());
        let record = archive
            .record("data.pkl", limits)
            .map_err(fail)?
            .ok_or_else(|| fail(Fault::from(ErrorKind::Corrupt("no data.pkl".into()))))?;
        let base = record.at;
        let mut released = base.unwrap_or(0);
        let mut progress = |pos: usize| {
            if let Some(base) = base {
                // The page under the cursor and what a string of this stretch may need stay.
                let upto = base + pos as u64;
                archive.release(released, upto);
                released = upto;
            }
        };
        let arena = pickle::run(&record.bytes, limits, &mut progress)
            .map_err(|f| fail(f.shifted(base.unwrap_or(0))))?;
        let pickle = match base {
            Some(at) => Pickle::Mapped { at, len: record.bytes.len() as u64 },
            None => Pickle::Inflated(record.bytes.into_owned()),
        };
        Ok(Self { archive, pickle, arena, limits: limits.clone(), replaced: AtomicU64::new(0) })
    }

    /// The file this was opened from.
    pub fn path(&self) -> &Path {
        self.archive.path()
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.archive.len()
    }

    /// The value that `torch.save` was given.
    pub fn root(&self) -> Ref<'_> {
        Ref { file: self, value: self.arena.root }
    }

    /// How many characters have been replaced by U+FFFD in strings read so far: lone surrogates and
    /// invalid UTF-8.
    pub fn replaced_characters(&self) -> u64 {
        self.replaced.load(Ordering::Relaxed)
    }

    /// Lets the system take back the file's pages that were read so far. Values stay valid; what is
    /// read again is fetched again.
    pub fn release_pages(&self) {
        self.archive.release(0, self.archive.len());
    }

    pub(super) fn archive(&self) -> &Archive {
        &self.archive
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn pickle(&self) -> &[u8] {
        match &self.pickle {
            Pickle::Mapped { at, len } => self.archive.slice(*at, *len),
            Pickle::Inflated(bytes) => bytes,
        }
    }

    pub(super) fn count_replaced(&self, n: u64) {
        if n > 0 {
            self.replaced.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// A fault at a position of the pickle as an error of the file.
    pub(super) fn fail(&self, fault: Fault) -> Error {
        let base = match self.pickle {
            Pickle::Mapped { at, .. } => at,
            Pickle::Inflated(_) => 0,
        };
        fault.shifted(base).in_file(self.path())
    }
}
