//! What can be wrong with a torch file, where, and what it is instead.

use std::fmt;
use std::path::{Path, PathBuf};

/// A torch file could not be read. Says which file and, where it is known, at which byte of it.
#[derive(Debug, thiserror::Error)]
pub struct Error {
    /// The file.
    pub path: PathBuf,
    /// Byte offset in the file (in the inflated record for a compressed one).
    pub offset: Option<u64>,
    /// What is wrong.
    #[source]
    pub kind: ErrorKind,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The system could not open, stat or map it.
    #[error("{0}")]
    Io(#[source] std::io::Error),
    /// It is a file of another kind.
    #[error("{0}")]
    Foreign(Foreign),
    /// It ends too early.
    #[error("truncated: {0}")]
    Truncated(String),
    /// It contradicts itself.
    #[error("corrupt: {0}")]
    Corrupt(String),
    /// It asks for more than [`super::Limits`] allow.
    #[error("over the limit: {0}")]
    Limit(String),
    /// It holds something that exists in torch and is not read here.
    #[error("unsupported {0}")]
    Unsupported(String),
    /// A value is there and is of another type than the caller needs.
    #[error("{0}")]
    Unexpected(String),
}

/// What a file is when it is not a torch zip archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// Nothing in it.
    Empty,
    /// A folder.
    Directory,
    /// The format of torch before 1.6: several pickles one after the other.
    LegacyTorch,
    /// The tar format of torch 0.1.
    TarTorch,
    /// `torch.jit.save`.
    TorchScript,
    /// A Git-LFS pointer: the file itself was never fetched.
    LfsPointer,
    /// A zip archive without `data.pkl`.
    OtherZip,
    /// NumPy's `.npz`.
    Npz,
    /// NumPy's `.npy`.
    Npy,
    /// A bare pickle.
    Pickle,
    /// safetensors.
    Safetensors,
    /// Parquet.
    Parquet,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
    /// HDF5.
    Hdf5,
    /// GGUF.
    Gguf,
    /// Text of some kind.
    Text,
    /// None of the above.
    Unknown,
}

impl Foreign {
    /// What a file without an end record is. `None`: the beginning of a zip archive.
    pub(super) fn sniff(b: &[u8]) -> Option<Self> {
        // torch's legacy magic number 0x1950a86a20f9469cfc6c, pickled as LONG1.
        const LEGACY: &[u8] = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
        let starts = |p: &[u8]| b.starts_with(p);
        // safetensors begins with the length of its JSON header.
        let header = b.first_chunk().map_or(u64::MAX, |h| u64::from_le_bytes(*h));
        if starts(b"PK\x03\x04") || b"PK\x03\x04".starts_with(b) {
            return None;
        }
        Some(match b {
            _ if b.len() > 2 && b[0] == 0x80 && b[2..].starts_with(LEGACY) => Self::LegacyTorch,
            [0x80, 2..=5, ..] => Self::Pickle,
            _ if starts(b"version https://git-lfs") => Self::LfsPointer,
            _ if starts(b"\x93NUMPY") => Self::Npy,
            _ if starts(b"PAR1") => Self::Parquet,
            _ if starts(b"\x1f\x8b") => Self::Gzip,
            _ if starts(b"\x28\xb5\x2f\xfd") => Self::Zstd,
            _ if starts(b"\x89HDF") => Self::Hdf5,
            _ if starts(b"GGUF") => Self::Gguf,
            _ if b.get(257..262) == Some(b"ustar") => Self::TarTorch,
            _ if b.get(8) == Some(&b'{') && header < b.len() as u64 => Self::Safetensors,
            _ if b.len() > 8 && b.iter().take(4096).all(|c| matches!(c, 9..=13 | 32..=126 | 128..)) => {
                Self::Text
            }
            _ => Self::Unknown,
        })
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "an empty file, not a torch file",
            Self::Directory => "a directory, not a torch file",
            Self::LegacyTorch => "the legacy torch format (before 1.6), which is not read",
            Self::TarTorch => "the tar format of torch 0.1, which is not read",
            Self::TorchScript => "a TorchScript archive (torch.jit.save), not a torch.save file",
            Self::LfsPointer => "a Git-LFS pointer, not the file itself",
            Self::OtherZip => "a zip archive without data.pkl, not a torch file",
            Self::Npz => "a NumPy .npz archive, not a torch file",
            Self::Npy => "a NumPy .npy array, not a torch file",
            Self::Pickle => "a bare pickle, not a torch file",
            Self::Safetensors => "a safetensors file, not a torch file",
            Self::Parquet => "a Parquet file, not a torch file",
            Self::Gzip => "gzip data, not a torch file",
            Self::Zstd => "zstd data, not a torch file",
            Self::Hdf5 => "an HDF5 file, not a torch file",
            Self::Gguf => "a GGUF file, not a torch file",
            Self::Text => "a text file, not a torch file",
            Self::Unknown => "not a torch file (no zip archive)",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.kind)?;
        match self.offset {
            Some(at) => write!(f, " at byte {}", grouped(at)),
            None => Ok(()),
        }
    }
}

impl Error {
    /// What the reader can do about it, if anything is known.
    pub fn hint(&self) -> Option<&'static str> {
        match &self.kind {
            ErrorKind::Foreign(Foreign::LegacyTorch | Foreign::TarTorch) => {
                Some("load it with torch and save it again: torch.save(torch.load(f), f)")
            }
            ErrorKind::Foreign(Foreign::LfsPointer) => Some("git lfs pull"),
            ErrorKind::Foreign(Foreign::Gzip) => Some("gunzip it first"),
            ErrorKind::Foreign(Foreign::Zstd) => Some("unzstd it first"),
            ErrorKind::Truncated(_) => {
                Some("the writer was stopped or the copy is incomplete; copy it again or leave this step out")
            }
            ErrorKind::Corrupt(_) => Some("copy it again, or leave this step out"),
            _ => None,
        }
    }

    /// Whether a file that is still being written can look like this.
    pub fn may_be_unfinished(&self) -> bool {
        match &self.kind {
            ErrorKind::Io(_) => false,
            ErrorKind::Foreign(kind) => matches!(kind, Foreign::Empty | Foreign::Unknown | Foreign::OtherZip),
            // Pages that are not there yet read as zeros, which can look like anything.
            _ => true,
        }
    }
}

/// An [`ErrorKind`] and its offset before the file's path is known; layers below [`super::File`] use it.
#[derive(Debug)]
pub(super) struct Fault {
    pub offset: Option<u64>,
    pub kind: ErrorKind,
}

impl Fault {
    pub fn at(offset: u64, kind: ErrorKind) -> Self {
        Self { offset: Some(offset), kind }
    }

    pub fn corrupt(offset: u64, what: impl Into<String>) -> Self {
        Self::at(offset, ErrorKind::Corrupt(what.into()))
    }

    pub fn truncated(offset: u64, what: impl Into<String>) -> Self {
        Self::at(offset, ErrorKind::Truncated(what.into()))
    }

    pub fn limit(offset: u64, what: impl Into<String>) -> Self {
        Self::at(offset, ErrorKind::Limit(what.into()))
    }

    /// Shifts an offset within a record to one within the file.
    pub fn shifted(mut self, base: u64) -> Self {
        self.offset = self.offset.map(|o| o + base);
        self
    }

    pub fn in_file(self, path: &Path) -> Error {
        Error { path: path.to_owned(), offset: self.offset, kind: self.kind }
    }
}

impl From<ErrorKind> for Fault {
    fn from(kind: ErrorKind) -> Self {
        Self { offset: None, kind }
    }
}

/// `1234567` as `1,234,567`.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(81_920), "81,920");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
