//! `dashboard_columns/rollout_{rid}.parquet`: the per-token mirror of the rollout side.
//!
//! The layout is the job's: three `int32` columns and three lists, row groups of eight samples, so
//! that one sample's tokens can be read without the rest.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use super::sample::Sample;
use super::story::Step;
use super::vocabulary::Vocabulary;

/// Samples a row group.
const GROUP: usize = 8;

const SCHEMA: &str = "message schema {
  optional int32 sample_index;
  optional int32 response_length;
  optional int32 total_length;
  optional group tokens (LIST) { repeated group list { optional int32 element; } }
  optional group loss_mask (LIST) { repeated group list { optional int32 element (INTEGER(8,true)); } }
  optional group rollout_log_probs (LIST) { repeated group list { optional float element; } }
}";

/// Definition levels: 1 is a scalar that is there, and for a list 0 is a null, 1 an empty one, 3 an
/// element.
const PRESENT: i16 = 1;
const EMPTY: i16 = 1;
const ELEMENT: i16 = 3;

/// Writes the mirror of a step.
pub(super) fn write<W: Write + Send>(out: W, step: &Step<'_>, vocabulary: &Vocabulary) -> Result<W> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties()?))?;
    for first in (0..step.samples()).step_by(GROUP) {
        let places = first..step.samples().min(first + GROUP);
        let samples: Vec<Sample> = places.map(|place| step.sample(vocabulary, place)).collect();
        let mut group = writer.next_row_group()?;
        write_group(&mut group, &samples)?;
        group.close()?;
    }
    writer.into_inner()
}

/// Smallest and largest sample of a group let a reader skip it; those of a list's elements do not.
fn properties() -> Result<WriterProperties> {
    let list = |name: &str| ColumnPath::new(vec![name.into(), "list".into(), "element".into()]);
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("miles-tools version ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // Log-probabilities hardly repeat.
        .set_column_dictionary_enabled(list("rollout_log_probs"), false);
    for name in ["tokens", "loss_mask", "rollout_log_probs"] {
        builder = builder.set_column_statistics_enabled(list(name), EnabledStatistics::None);
    }
    Ok(builder.build())
}

fn write_group<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    samples: &[Sample],
) -> Result<()> {
    let ints = |of: fn(&Sample) -> usize| -> Result<Vec<i32>> {
        let narrow =
            |sample| i32::try_from(of(sample)).map_err(|_| ParquetError::General("over 2^31".into()));
        samples.iter().map(narrow).collect()
    };
    scalars(group, &ints(|sample| sample.outcome.index)?)?;
    scalars(group, &ints(|sample| sample.response_length)?)?;
    scalars(group, &ints(|sample| sample.tokens.len())?)?;

    let tokens = samples.iter().flat_map(|sample| sample.tokens.iter().map(|&token| token as i32)).collect();
    lists(group, Values::Ints(tokens), samples.iter().map(|sample| Some(sample.tokens.len())))?;
    let masks = samples.iter().filter_map(|sample| sample.mask.as_ref()).flatten();
    let lengths = samples.iter().map(|sample| sample.mask.as_ref().map(Vec::len));
    lists(group, Values::Ints(masks.map(|&m| m.into()).collect()), lengths)?;
    let log_probs = samples.iter().flat_map(|sample| sample.log_probs.iter().copied()).collect();
    lists(group, Values::Floats(log_probs), samples.iter().map(|sample| Some(sample.log_probs.len())))
}

enum Values {
    Ints(Vec<i32>),
    Floats(Vec<f32>),
}

fn scalars<W: Write + Send>(group: &mut SerializedRowGroupWriter<'_, W>, values: &[i32]) -> Result<()> {
    column(group, &Values::Ints(values.to_vec()), &vec![PRESENT; values.len()], None)
}

/// A list column: the values of all lists in a row, and each list's length, None for a null.
fn lists<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: Values,
    lengths: impl Iterator<Item = Option<usize>>,
) -> Result<()> {
    let (mut definition, mut repetition) = (Vec::new(), Vec::new());
    for length in lengths {
        repetition.push(0);
        match length {
            None => definition.push(0),
            Some(0) => definition.push(EMPTY),
            Some(n) => {
                definition.resize(definition.len() + n, ELEMENT);
                repetition.resize(repetition.len() + n - 1, 1);
            }
        }
    }
    column(group, &values, &definition, Some(&repetition))
}

fn column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &Values,
    definition: &[i16],
    repetition: Option<&[i16]>,
) -> Result<()> {
    let missing = || ParquetError::General("the schema has fewer columns than the mirror".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    match (values, column.untyped()) {
        (Values::Ints(values), ColumnWriter::Int32ColumnWriter(writer)) => {
            writer.write_batch(values, Some(definition), repetition)?
        }
        (Values::Floats(values), ColumnWriter::FloatColumnWriter(writer)) => {
            writer.write_batch(values, Some(definition), repetition)?
        }
        _ => return Err(missing()),
    };
    column.close()
}
