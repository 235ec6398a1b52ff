//! From the row model's columns to a Parquet schema; every column can hold null.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};

use crate::row::{Column, Kind};

/// The schema of a file with these columns.
pub(super) fn schema(columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let fields: Result<Vec<TypePtr>, ParquetError> = columns.iter().map(field).collect();
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields?).build()?))
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let name = &*column.name;
    match column.kind {
        Kind::Bool => leaf(name, Physical::BOOLEAN, None),
        Kind::Int => leaf(name, Physical::INT64, None),
        Kind::Int32 => leaf(name, Physical::INT32, None),
        Kind::Float32 => leaf(name, Physical::FLOAT, None),
        Kind::Float64 => leaf(name, Physical::DOUBLE, None),
        // Polars reads Parquet's own JSON type as raw bytes, so JSON is marked as the text it is.
        Kind::Text | Kind::Json => leaf(name, Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Ints => list(name, leaf("element", Physical::INT32, None)?),
        Kind::Mask => list(name, leaf("element", Physical::INT32, Some(LogicalType::integer(8, true)))?),
        Kind::Floats => list(name, leaf("element", Physical::FLOAT, None)?),
        Kind::Texts => list(name, leaf("element", Physical::BYTE_ARRAY, Some(LogicalType::String))?),
    }
}

fn leaf(name: &str, physical: Physical, logical: Option<LogicalType>) -> Result<TypePtr, ParquetError> {
    let built = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(built))
}

/// The three levels that all readers know: `optional group name (LIST) { repeated group list {
/// optional element } }`.
fn list(name: &str, element: TypePtr) -> Result<TypePtr, ParquetError> {
    let repeated = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![element])
        .build()?;
    let built = Type::group_type_builder(name)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(repeated)])
        .build()?;
    Ok(Arc::new(built))
}
