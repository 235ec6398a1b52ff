//! Summaries through the cache: from disk when what is there is still true, else read and kept.

use super::cache::{Cache, CacheError, Source};
use super::summary::{COLUMNS, Row, Summary};
use super::{Error, StepFiles};

/// A summary, and what became of keeping it.
#[derive(Debug)]
pub struct Kept {
    /// The summary.
    pub summary: Summary,
    /// Whether the cache had it.
    pub from_cache: bool,
    /// Why it was not kept, where it should have been.
    pub not_stored: Option<CacheError>,
}

/// The summary of a step.
///
/// # Errors
/// As [`Summary::read`]; a cache that cannot be used is none.
pub fn summary(files: &StepFiles, cache: Option<&Cache>) -> Result<Kept, Error> {
    // Looked at before they are read: what changes meanwhile must not pass for what was read.
    let sources = sources(files);
    let kept = cache.zip(sources.as_ref());
    if let Some(summary) = kept.and_then(|(cache, sources)| load(cache, files, sources)) {
        return Ok(Kept { summary, from_cache: true, not_stored: None });
    }
    let summary = Summary::read(files)?;
    let not_stored = kept.and_then(|(cache, sources)| {
        cache.store(&files.id.stem(), sources, &COLUMNS, summary.rows.iter().map(Row::cells)).err()
    });
    Ok(Kept { summary, from_cache: false, not_stored })
}

/// The files that a summary is made from; none when one of them is gone.
fn sources(files: &StepFiles) -> Option<Vec<Source>> {
    let train = files.train.iter().map(|f| f.path.as_path());
    std::iter::once(files.rollout.as_path()).chain(train).map(|path| Source::look(path).ok()).collect()
}

fn load(cache: &Cache, files: &StepFiles, sources: &[Source]) -> Option<Summary> {
    let rows = cache.load(&files.id.stem(), sources, &COLUMNS)?;
    let rows = rows.iter().map(|cells| Row::from_cells(cells)).collect::<Option<Vec<_>>>()?;
    Some(Summary { id: files.id, rows, has_train: !files.train.is_empty(), replaced_characters: 0 })
}
