//! The files of one hourly stream: read when a query touches them, followed while they grow.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::column::{Build, Columns};
use super::load::{Part, Tally, Times, load, read, stretches};
use super::shelf::{Kept, Shelf};
use super::tail::{Change, Mark, Opened, Stat, stat};
use super::{DamagedFile, Partition, TelemetryError, Window, partitions};

/// Blocks of fewer rows take in what a tail appends; larger ones are left alone, so that following
/// costs no copy of an hour.
const SMALL_BLOCK: usize = 1 << 16;

/// Bytes at either end of a file that tell what is in it: some thousands of lines, more than the records that
/// one flush of a collector writes out of order.
pub(super) const EDGE: u64 = 64 << 10;

/// Files whose state is looked at on every refresh: the newest, which grow. Older ones, which only a
/// late writer touches, take turns when there are many.
const WATCHED: usize = 64;

/// One stream's files.
#[derive(Debug)]
pub(super) struct Hourly<C> {
    dashboard: PathBuf,
    state: Mutex<State<C>>,
    shelf: Option<Shelf>,
    version: AtomicU64,
    /// Memory held by blocks.
    bytes: AtomicUsize,
}

#[derive(Debug)]
struct State<C> {
    listed: bool,
    /// Why the stream's folder cannot be listed.
    trouble: Option<TelemetryError>,
    files: Vec<Hour<C>>,
    /// Which of the older files are looked at next.
    turn: usize,
}

#[derive(Debug)]
struct Hour<C> {
    partition: Partition,
    stat: Option<Stat>,
    content: Option<Content<C>>,
    /// First and last rows, for the state that they were read in.
    edges: Option<(Stat, Arc<C>, Arc<C>)>,
    trouble: Option<String>,
    /// What was damaged when it was last read; kept when the rows are forgotten.
    tally: Tally,
    /// When a query last wanted it.
    used: u64,
}

#[derive(Debug)]
struct Content<C> {
    blocks: Vec<Arc<C>>,
    mark: Mark,
}

impl<C: Columns> Content<C> {
    fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.bytes()).sum()
    }
}

impl<C: Columns> Hourly<C> {
    pub(super) fn new(dashboard: &Path, shelf: Option<&Shelf>) -> Self {
        Self {
            dashboard: dashboard.to_owned(),
            shelf: shelf.cloned(),
            state: Mutex::new(State { listed: false, trouble: None, files: Vec::new(), turn: 0 }),
            version: AtomicU64::new(0),
            bytes: AtomicUsize::new(0),
        }
    }

    /// Grows with every change of the files that was noticed.
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Memory held by blocks.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Acquire)
    }

    /// The blocks of the files that may hold records of `window`, in the order of the files. Reads what
    /// was not read yet; `now` is the time of the query in the order of use.
    ///
    /// # Errors
    /// When the stream's folder cannot be listed. A file that cannot be read is damage.
    pub(super) fn blocks(&self, window: &Window, now: u64) -> Result<Vec<Arc<C>>, TelemetryError> {
        let mut state = self.listed()?;
        let wanted = |hour: &Hour<C>| hour.partition.overlaps(window);
        self.load(state.files.iter_mut().filter(|hour| wanted(hour)), now);
        let hours = state.files.iter().filter(|hour| wanted(hour));
        let blocks =
            hours.filter_map(|hour| hour.content.as_ref()).flat_map(|content| content.blocks.iter().cloned());
        Ok(blocks.collect())
    }

    /// The files that may hold records of `window`, for a query that takes them one after the other.
    ///
    /// # Errors
    /// As [`Self::blocks`].
    pub(super) fn hours(&self, window: &Window) -> Result<Vec<PathBuf>, TelemetryError> {
        let state = self.listed()?;
        let hours = state.files.iter().filter(|hour| hour.partition.overlaps(window));
        Ok(hours.map(|hour| hour.partition.path.clone()).collect())
    }

    /// The blocks of these files, in their order; none of one that is gone.
    ///
    /// # Errors
    /// As [`Self::blocks`].
    pub(super) fn of_files(&self, paths: &[PathBuf], now: u64) -> Result<Vec<Arc<C>>, TelemetryError> {
        let mut state = self.listed()?;
        let wanted = |hour: &Hour<C>| paths.contains(&hour.partition.path);
        self.load(state.files.iter_mut().filter(|hour| wanted(hour)), now);
        let hours = state.files.iter().filter(|hour| wanted(hour));
        Ok(hours
            .filter_map(|hour| hour.content.as_ref())
            .flat_map(|content| content.blocks.iter().cloned())
            .collect())
    }

    /// First rows of the oldest file that has any, and last rows of the newest: what their times span
    /// is what the stream spans, as far as its writers keep order.
    ///
    /// # Errors
    /// As [`Self::blocks`].
    pub(super) fn span(&self) -> Result<Option<(f64, f64)>, TelemetryError> {
        let mut state = self.listed()?;
        let files = &mut state.files;
        let head = files.iter_mut().find_map(|hour| hour.edges()?.0.span());
        // A flat file, which comes first, can end later than the hours.
        let flat = files.first_mut().filter(|hour| hour.partition.hour.is_none());
        let flat = flat.and_then(|hour| hour.edges()?.1.span());
        let tail = files.iter_mut().rev().find_map(|hour| hour.edges()?.1.span());
        let both = [head, tail, flat].into_iter().flatten();
        Ok(both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))))
    }

    /// The files.
    ///
    /// # Errors
    /// As [`Self::blocks`].
    pub(super) fn files(&self) -> Result<Vec<Partition>, TelemetryError> {
        Ok(self.listed()?.files.iter().map(|hour| hour.partition.clone()).collect())
    }

    /// Blocks that are in memory.
    pub(super) fn loaded(&self) -> Vec<Arc<C>> {
        let state = self.lock();
        let contents = state.files.iter().filter_map(|hour| hour.content.as_ref());
        contents.flat_map(|content| content.blocks.iter().cloned()).collect()
    }

    /// Files with lines that could not be read, or that could not be read at all.
    pub(super) fn damage(&self, out: &mut Vec<DamagedFile>) {
        let state = self.lock();
        if let Some(error) = &state.trouble {
            let path = self.dashboard.join(C::STREAM.name());
            out.push(DamagedFile { path, lines: 0, first: 0, reason: error.to_string() });
        }
        for hour in &state.files {
            let path = &hour.partition.path;
            if let Some(reason) = &hour.trouble {
                out.push(DamagedFile { path: path.clone(), lines: 0, first: 0, reason: reason.clone() });
            }
            if let Some((first, reason)) = &hour.tally.first {
                let (lines, first, reason) = (hour.tally.lines, *first, reason.clone());
                out.push(DamagedFile { path: path.clone(), lines, first, reason });
            }
        }
    }

    /// Looks what became of the files and reads what was appended to those in memory. Answers whether
    /// anything changed.
    ///
    /// # Errors
    /// As [`Self::blocks`].
    pub(super) fn refresh(&self) -> Result<bool, TelemetryError> {
        let mut state = self.lock();
        let mut changed = self.list(&mut state);
        let (older, turn) = (state.files.len().saturating_sub(WATCHED), state.turn);
        let turns = older.div_ceil(WATCHED).max(1);
        state.turn = (turn + 1) % turns;
        for (index, hour) in state.files.iter_mut().enumerate() {
            if index >= older || index % turns == turn {
                changed |= hour.refresh();
            }
        }
        self.settle(&state);
        if changed {
            self.version.fetch_add(1, Ordering::AcqRel);
        }
        Ok(changed)
    }

    /// When the file that was used longest ago was used, of those before `now`.
    pub(super) fn oldest_use(&self, now: u64) -> Option<u64> {
        let state = self.lock();
        state
            .files
            .iter()
            .filter(|hour| hour.content.is_some() && hour.used < now)
            .map(|hour| hour.used)
            .min()
    }

    /// Forgets the rows of the files that were last used at `used`.
    pub(super) fn drop_used(&self, used: u64) {
        let mut state = self.lock();
        for hour in state.files.iter_mut().filter(|hour| hour.used == used) {
            hour.content = None;
        }
        self.settle(&state);
    }

    fn lock(&self) -> MutexGuard<'_, State<C>> {
        // A panic while the lock was held leaves at worst a file that is read again.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listed(&self) -> Result<MutexGuard<'_, State<C>>, TelemetryError> {
        let mut state = self.lock();
        if !state.listed {
            self.list(&mut state);
        }
        Ok(state)
    }

    /// Brings the list of files up to date; answers whether one came or went. A folder that cannot be
    /// listed is damage, and the files that were known stay.
    fn list(&self, state: &mut State<C>) -> bool {
        let first = !std::mem::replace(&mut state.listed, true);
        let partitions = match partitions(&self.dashboard, C::STREAM) {
            Ok(partitions) => partitions,
            Err(error) => {
                state.trouble = Some(error);
                return first;
            }
        };
        state.trouble = None;
        let same = partitions.len() == state.files.len()
            && partitions.iter().zip(&state.files).all(|(partition, hour)| *partition == hour.partition);
        if same {
            return first;
        }
        let mut old = std::mem::take(&mut state.files);
        state.files = partitions
            .into_iter()
            .map(|partition| match old.iter().position(|hour| hour.partition == partition) {
                Some(place) => old.swap_remove(place),
                None => Hour {
                    partition,
                    stat: None,
                    content: None,
                    edges: None,
                    trouble: None,
                    tally: Tally::default(),
                    used: 0,
                },
            })
            .collect();
        true
    }

    fn settle(&self, state: &State<C>) {
        let bytes = state.files.iter().filter_map(|hour| hour.content.as_ref()).map(Content::bytes).sum();
        self.bytes.store(bytes, Ordering::Release);
    }

    /// Reads those of `hours` that are not in memory, all stretches of all files in parallel.
    fn load<'h>(&self, hours: impl Iterator<Item = &'h mut Hour<C>>, now: u64) {
        let mut files = Vec::new();
        for hour in hours {
            hour.used = now;
            if hour.content.is_some() {
                continue;
            }
            match Opened::open(&hour.partition.path) {
                Ok(Some(opened)) => {
                    let kept = self
                        .shelf
                        .as_ref()
                        .and_then(|shelf| shelf.find::<C>(&hour.partition.path, &opened.stat));
                    let times = hour.partition.times();
                    files.push((hour, Source { opened, kept, times }));
                }
                Ok(None) => {}
                Err(error) => hour.trouble = Some(cannot_read(&error)),
            }
        }
        if files.is_empty() {
            return;
        }
        let jobs: Vec<_> = files
            .iter()
            .enumerate()
            .flat_map(|(index, (_, source))| source.jobs(index, files.len()))
            .collect();
        let parts: Vec<_> =
            jobs.into_par_iter().map(|(index, source, piece)| (index, source.read(piece))).collect();
        let mut by_file: Vec<Vec<_>> = files.iter().map(|_| Vec::new()).collect();
        for (index, part) in parts {
            if let Some(file) = by_file.get_mut(index) {
                file.push(part);
            }
        }
        let mut held = self.bytes();
        for ((hour, source), parts) in files.into_iter().zip(by_file) {
            match source.content(parts) {
                Ok((content, tally)) => {
                    held += content.bytes();
                    if let Some(shelf) = self.shelf.as_ref().filter(|_| source.kept.is_none()) {
                        let path = &hour.partition.path;
                        shelf.keep(path, &source.opened.stat, content.mark.offset, &content.blocks, &tally);
                    }
                    hour.stat = Some(source.opened.stat);
                    hour.tally = tally;
                    hour.trouble = None;
                    hour.content = Some(content);
                }
                Err(error) => hour.trouble = Some(cannot_read(&error)),
            }
        }
        self.bytes.store(held, Ordering::Release);
    }
}

/// A file that is being read, and its columns if they were kept.
struct Source {
    opened: Opened,
    kept: Option<Kept>,
    times: Times,
}

/// What one thread reads of it.
#[derive(Clone, Copy)]
enum Piece {
    Text(u64, u64),
    Kept(usize),
}

impl Source {
    fn jobs(&self, index: usize, files: usize) -> Vec<(usize, &Self, Piece)> {
        let pieces: Vec<_> = match &self.kept {
            Some(kept) => (0..kept.blocks()).map(Piece::Kept).collect(),
            None => stretches(&self.opened, 0, files)
                .into_iter()
                .map(|(start, end)| Piece::Text(start, end))
                .collect(),
        };
        pieces.into_iter().map(|piece| (index, self, piece)).collect()
    }

    /// The rows of one piece; `None` when what was kept is not what was written.
    fn read<C: Columns>(&self, piece: Piece) -> io::Result<Option<Part<C>>> {
        match (piece, &self.kept) {
            (Piece::Kept(index), Some(kept)) => {
                Ok(kept.block(index).map(|block| Part { block, tally: Tally::default(), end: None }))
            }
            (Piece::Kept(_), None) => Ok(None),
            (Piece::Text(start, end), _) => read(&self.opened, start, end, start == 0, &self.times).map(Some),
        }
    }

    fn content<C: Columns>(
        &self,
        parts: Vec<io::Result<Option<Part<C>>>>,
    ) -> io::Result<(Content<C>, Tally)> {
        let parts: Option<Vec<_>> = parts.into_iter().collect::<io::Result<_>>()?;
        let (parts, kept) = match parts {
            Some(parts) => (parts, self.kept.as_ref()),
            None => (load(&self.opened, 0, &self.times)?, None),
        };
        let mut content = Content { blocks: Vec::new(), mark: self.opened.mark(0)? };
        let mut tally = Tally::default();
        content.take_in(parts, &mut tally);
        let end = kept.map_or(content.mark.offset, Kept::end);
        content.mark = self.opened.mark(end)?;
        Ok((content, kept.map_or(tally, Kept::tally)))
    }
}

impl<C: Columns> Content<C> {
    fn take_in(&mut self, parts: Vec<Part<C>>, tally: &mut Tally) {
        for part in parts {
            self.mark.offset = part.end.unwrap_or(self.mark.offset).max(self.mark.offset);
            tally.append(part.tally);
            if part.block.rows() == 0 {
                continue;
            }
            match self.blocks.last_mut() {
                Some(last) if last.rows() + part.block.rows() <= SMALL_BLOCK => {
                    let mut builder = C::Builder::default();
                    builder.absorb(last);
                    builder.absorb(&part.block);
                    *last = Arc::new(builder.finish());
                }
                _ => self.blocks.push(Arc::new(part.block)),
            }
        }
    }
}

impl<C: Columns> Hour<C> {
    /// Looks at the file; answers whether it changed.
    fn refresh(&mut self) -> bool {
        let path = &self.partition.path;
        let now = match stat(path) {
            Ok(now) => now,
            Err(error) => {
                // What was read stays: the next look may find the file again.
                self.trouble = Some(cannot_read(&error));
                return false;
            }
        };
        let Some(content) = &mut self.content else {
            let changed = now != self.stat;
            if changed {
                self.tally = Tally::default();
            }
            self.stat = now;
            return changed;
        };
        let change = content.mark.change(path, now).and_then(|change| match change {
            Change::None => Ok(Some(false)),
            Change::Grown(opened) => {
                let parts = load::<C>(&opened, content.mark.offset, &self.partition.times())?;
                content.take_in(parts, &mut self.tally);
                content.mark = opened.mark(content.mark.offset)?;
                Ok(Some(true))
            }
            Change::Replaced | Change::Gone => Ok(None),
        });
        self.stat = now;
        match change {
            Ok(Some(changed)) => {
                self.trouble = None;
                changed
            }
            Ok(None) => {
                self.content = None;
                self.tally = Tally::default();
                self.trouble = None;
                true
            }
            Err(error) => {
                self.trouble = Some(cannot_read(&error));
                self.content = None;
                true
            }
        }
    }

    /// First and last rows of the file, if it can be read and has any.
    fn edges(&mut self) -> Option<(Arc<C>, Arc<C>)> {
        let opened = Opened::open(&self.partition.path).ok()??;
        if let Some((stat, head, tail)) = &self.edges
            && *stat == opened.stat
        {
            return Some((Arc::clone(head), Arc::clone(tail)));
        }
        let (size, times) = (opened.stat.size, self.partition.times());
        let head = Arc::new(read::<C>(&opened, 0, EDGE.min(size), true, &times).ok()?.block);
        let start = size.saturating_sub(EDGE);
        let tail = if start == 0 {
            Arc::clone(&head)
        } else {
            Arc::new(read::<C>(&opened, start, size, false, &times).ok()?.block)
        };
        self.edges = Some((opened.stat, Arc::clone(&head), Arc::clone(&tail)));
        Some((head, tail))
    }
}

fn cannot_read(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}
