//! Columns of hours that are over, kept on disk, so that the next process need not read them as text.
//!
//! One file an hour under the cache directory: the blocks one after the other, then a footer that names
//! what they were made from (version of the layout, size and modification time of the source) and the
//! checksum of each block. Anything that differs makes the file worthless, and it may be deleted at any
//! time. It appears whole or not at all. No failure here fails a question: what cannot be written is not
//! kept, what cannot be read is read from the source.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::column::{Bytes, Columns};
use super::load::Tally;
use super::tail::Stat;

/// Raised when the layout of the columns or the reading of lines changes.
const LAYOUT: &str = concat!(env!("CARGO_PKG_VERSION"), "/2");

/// Sources below this are read as text in less time than anybody notices.
const LEAST_SOURCE: u64 = 8 << 20;

/// A source that was written to more recently can grow: its hour is not over.
const SETTLED_AFTER: Duration = Duration::from_secs(600);

/// Bytes of columns that wait to be written. They stay in memory so long; more are not kept this time.
const MOST_WAITING: usize = 128 << 20;

/// Last bytes of a file: checksum and length of the footer before them.
const TRAILER: usize = 12;

/// Where the columns of a run are kept.
#[derive(Debug, Clone)]
pub(super) struct Shelf {
    folder: PathBuf,
    /// Bytes from which on a source is worth it.
    least: u64,
    writer: Sender<Job>,
    /// Bytes that wait.
    waiting: Arc<AtomicUsize>,
}

struct Job(Box<dyn FnOnce() + Send>);

#[derive(Debug, Serialize, Deserialize)]
struct Footer {
    layout: String,
    size: u64,
    modified: (i64, i64),
    /// Offset in the source after the last complete line.
    end: u64,
    damaged: u64,
    first: Option<(u64, String)>,
    /// Length and CRC-32 of each block.
    blocks: Vec<(u64, u32)>,
}

/// A kept hour that matches its source.
#[derive(Debug)]
pub(super) struct Kept {
    file: File,
    footer: Footer,
}

impl Shelf {
    /// Keeps columns under `cache`. Nothing is written before an hour is kept.
    pub(super) fn new(cache: &Path) -> Option<Self> {
        let (writer, jobs) = channel::<Job>();
        let thread = thread::Builder::new().name("columns".into());
        // The thread ends with the last sender.
        let work = move || {
            stand_back();
            jobs.into_iter().for_each(|Job(job)| job());
        };
        thread.spawn(work).ok()?;
        Some(Self { folder: cache.join("columns"), least: LEAST_SOURCE, writer, waiting: Arc::default() })
    }

    /// The columns of `source` in this state, if they were kept.
    pub(super) fn find<C: Columns>(&self, source: &Path, stat: &Stat) -> Option<Kept> {
        let file = File::open(self.path::<C>(source)?).ok()?;
        let size = file.metadata().ok()?.len();
        let trailer_at = size.checked_sub(TRAILER as u64)?;
        let mut trailer = [0; TRAILER];
        file.read_exact_at(&mut trailer, trailer_at).ok()?;
        let (sum, length) = trailer.split_first_chunk()?;
        let length = u64::from_le_bytes(*length.first_chunk()?);
        let start = trailer_at.checked_sub(length)?;
        let mut text = vec![0; usize::try_from(length).ok()?];
        file.read_exact_at(&mut text, start).ok()?;
        if crc32fast::hash(&text) != u32::from_le_bytes(*sum) {
            return None;
        }
        let footer: Footer = serde_json::from_slice(&text).ok()?;
        let blocks = footer.blocks.iter().try_fold(0_u64, |sum, (length, _)| sum.checked_add(*length))?;
        let same = footer.layout == LAYOUT && footer.size == stat.size && footer.modified == stat.modified;
        (same && blocks == start).then_some(Kept { file, footer })
    }

    /// Keeps the columns of `source`, which was in this state when it was opened, if its hour is over.
    /// They are written by another thread.
    pub(super) fn keep<C: Columns>(
        &self,
        source: &Path,
        stat: &Stat,
        end: u64,
        blocks: &[Arc<C>],
        tally: &Tally,
    ) {
        let settled = UNIX_EPOCH + Duration::from_secs(stat.modified.0.try_into().unwrap_or(u64::MAX / 4));
        let over = SystemTime::now().duration_since(settled).is_ok_and(|age| age >= SETTLED_AFTER);
        let Some(path) = self.path::<C>(source).filter(|_| over && stat.size >= self.least) else { return };
        let mut footer = Footer {
            layout: LAYOUT.to_owned(),
            size: stat.size,
            modified: stat.modified,
            end,
            damaged: tally.lines,
            first: tally.first.clone(),
            blocks: Vec::new(),
        };
        let bytes: usize = blocks.iter().map(|block| block.bytes()).sum();
        let before = self.waiting.fetch_add(bytes, Ordering::AcqRel);
        if before > 0 && before + bytes > MOST_WAITING {
            self.waiting.fetch_sub(bytes, Ordering::AcqRel);
            return;
        }
        let (blocks, waiting) = (blocks.to_vec(), Arc::clone(&self.waiting));
        let job = Job(Box::new(move || {
            // A cache that cannot be written is no cache; the answer was given long ago.
            let _ = write(&path, &blocks, &mut footer);
            waiting.fetch_sub(bytes, Ordering::AcqRel);
        }));
        // Without the thread nothing is kept.
        let _ = self.writer.send(job);
    }

    fn path<C: Columns>(&self, source: &Path) -> Option<PathBuf> {
        let name = source.file_name()?.to_str()?;
        Some(self.folder.join(C::STREAM.name()).join(format!("{name}.columns")))
    }
}

impl Kept {
    /// How many blocks there are.
    pub(super) fn blocks(&self) -> usize {
        self.footer.blocks.len()
    }

    /// One block; `None` when it is not what was written.
    pub(super) fn block<C: Columns>(&self, index: usize) -> Option<C> {
        let before = self.footer.blocks.get(..index)?;
        let &(length, sum) = self.footer.blocks.get(index)?;
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.file.read_exact_at(&mut bytes, before.iter().map(|(length, _)| length).sum()).ok()?;
        if crc32fast::hash(&bytes) != sum {
            return None;
        }
        C::take(&mut Bytes(&bytes))
    }

    /// Offset in the source after the last line that the blocks hold.
    pub(super) fn end(&self) -> u64 {
        self.footer.end
    }

    /// What was damaged in the source.
    pub(super) fn tally(&self) -> Tally {
        Tally { lines: self.footer.damaged, first: self.footer.first.clone() }
    }
}

/// Lets everything else of the machine run before this thread: whoever asked is still waiting for an answer.
fn stand_back() {
    /// The lowest priority there is.
    const LAST: libc::c_int = 19;
    // Elsewhere the call is about the whole process.
    #[cfg(target_os = "linux")]
    // SAFETY: takes plain numbers; 0 is the calling thread. Refused, it changes nothing.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, LAST);
    }
}

fn write<C: Columns>(path: &Path, blocks: &[Arc<C>], footer: &mut Footer) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".columns-").tempfile_in(folder)?;
    let mut bytes = Vec::new();
    for block in blocks {
        bytes.clear();
        block.put(&mut bytes);
        footer.blocks.push((bytes.len() as u64, crc32fast::hash(&bytes)));
        file.write_all(&bytes)?;
    }
    let text = serde_json::to_vec(footer)?;
    file.write_all(&text)?;
    file.write_all(&crc32fast::hash(&text).to_le_bytes())?;
    file.write_all(&(text.len() as u64).to_le_bytes())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::Window;
    use crate::telemetry::column::GpuBlock;
    use crate::telemetry::hourly::Hourly;
    use crate::telemetry::tail::stat;

    const LINE: &str =
        "{\"ts\":1769904000.25,\"node\":\"n\",\"gpu\":0,\"util\":20,\"mem_mb\":5,\"power_w\":6}\n";

    fn set_age(path: &Path, age: Duration) {
        File::options().append(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
    }

    fn utils(hourly: &Hourly<GpuBlock>) -> Vec<i32> {
        let blocks = hourly.blocks(&Window::ALL, 1).unwrap();
        blocks
            .iter()
            .flat_map(|block| block.lanes().flat_map(|lane| lane.util.to_vec()).collect::<Vec<_>>())
            .collect()
    }

    fn damaged(hourly: &Hourly<GpuBlock>) -> u64 {
        let mut out = Vec::new();
        hourly.damage(&mut out);
        out.iter().map(|file| file.lines).sum()
    }

    #[test]
    fn an_hour_that_is_over_is_kept_and_any_difference_makes_it_worthless() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("gpu_util/20260201_00.jsonl");
        let kept = folder.path().join("cache/columns/gpu_util/20260201_00.jsonl.columns");
        fs::create_dir_all(source.parent().unwrap()).unwrap();
        fs::write(&source, format!("{LINE}damaged\n{LINE}")).unwrap();
        set_age(&source, Duration::from_secs(1000));
        let open = || {
            let shelf = Shelf { least: 0, ..Shelf::new(&folder.path().join("cache")).unwrap() };
            (Hourly::<GpuBlock>::new(folder.path(), Some(&shelf)), shelf)
        };
        let (hourly, shelf) = open();
        assert_eq!((utils(&hourly), damaged(&hourly)), (vec![20, 20], 1));
        let found = |shelf: &Shelf| shelf.find::<GpuBlock>(&source, &stat(&source).unwrap().unwrap());
        while found(&shelf).is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        let (hourly, _shelf) = open();
        assert_eq!((utils(&hourly), damaged(&hourly)), (vec![20, 20], 1));

        // A block that was changed on disk: the source is read instead.
        let mut bytes = fs::read(&kept).unwrap();
        bytes[60] ^= 1;
        fs::write(&kept, &bytes).unwrap();
        assert!(found(&shelf).unwrap().block::<GpuBlock>(0).is_none());
        let (hourly, _shelf) = open();
        assert_eq!((utils(&hourly), damaged(&hourly)), (vec![20, 20], 1));

        // A late record: what was kept is of another source, and is written anew once the file has settled.
        fs::write(&source, format!("{LINE}damaged\n{LINE}{LINE}")).unwrap();
        assert!(found(&shelf).is_none());
        let (hourly, _shelf) = open();
        assert_eq!(utils(&hourly), [20, 20, 20]);
        for bytes in [&b""[..], b"short", &bytes[..bytes.len() - 1], &[0; 64]] {
            fs::write(&kept, bytes).unwrap();
            assert!(found(&shelf).is_none());
        }
    }

    #[test]
    fn an_hour_that_may_grow_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("x.jsonl");
        fs::write(&source, LINE).unwrap();
        let shelf = Shelf { least: 0, ..Shelf::new(folder.path()).unwrap() };
        let block: Vec<Arc<GpuBlock>> = Vec::new();
        shelf.keep(&source, &stat(&source).unwrap().unwrap(), 1, &block, &Tally::default());
        set_age(&source, Duration::from_secs(1000));
        let shelf = Shelf { least: 1 << 20, ..shelf };
        shelf.keep(&source, &stat(&source).unwrap().unwrap(), 1, &block, &Tally::default());
        thread::sleep(Duration::from_millis(50));
        assert!(!folder.path().join("columns").exists());
    }
}
