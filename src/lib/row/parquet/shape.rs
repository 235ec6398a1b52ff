//! From a file's schema to the row model: what a column holds, and what its levels mean.

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type};

use super::error::Problem;
use crate::row::Kind;

/// How the levels of a column's entries are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// The kind that cells get.
    pub kind: Kind,
    /// Definition level of a value that is there.
    pub present: i16,
    /// Definition level of a list that is there but empty, if the column holds lists.
    pub empty: Option<i16>,
}

/// Finds the leaf of the column called `name` and checks that it can be read as `kind`.
pub(super) fn find(
    schema: &SchemaDescriptor,
    name: &str,
    kind: Kind,
) -> Result<Option<(usize, Shape)>, Problem> {
    let is_of = |leaf: &ColumnDescriptor| leaf.path().parts().first().is_some_and(|first| first == name);
    let Some(index) = schema.columns().iter().position(|leaf| is_of(leaf)) else {
        return Ok(None);
    };
    let leaf = schema.column(index);
    let root = schema.get_column_root(index);
    let other = || Problem::OtherKind { want: kind, have: describe(root) };
    if kind.is_list() != root.is_group() || !holds(kind, &leaf) {
        return Err(other());
    }
    let optional = |of: &Type| {
        let info = of.get_basic_info();
        info.has_repetition() && info.repetition() == Repetition::OPTIONAL
    };
    let empty = if kind.is_list() {
        if !is_list(root) {
            return Err(other());
        }
        Some(i16::from(optional(root)))
    } else if leaf.max_rep_level() > 0 {
        return Err(other());
    } else {
        None
    };
    Ok(Some((index, Shape { kind, present: leaf.max_def_level(), empty })))
}

/// `group name { repeated group { element } }`, whatever the inner names are; also the two levels of
/// old writers, `group name { repeated element }`.
fn is_list(root: &Type) -> bool {
    let [repeated] = root.get_fields() else {
        return false;
    };
    let info = repeated.get_basic_info();
    if !info.has_repetition() || info.repetition() != Repetition::REPEATED {
        return false;
    }
    if repeated.is_primitive() {
        return true;
    }
    let [element] = repeated.get_fields() else {
        return false;
    };
    element.is_primitive() && element.get_basic_info().repetition() != Repetition::REPEATED
}

/// Whether the leaf's values can be values of `kind` without losing anything. Numbers that do not fit
/// are noticed when they are read.
fn holds(kind: Kind, leaf: &ColumnDescriptor) -> bool {
    let physical = leaf.physical_type();
    let plain_int = match leaf.logical_type_ref() {
        None => matches!(
            leaf.converted_type(),
            ConvertedType::NONE
                | ConvertedType::INT_8
                | ConvertedType::INT_16
                | ConvertedType::INT_32
                | ConvertedType::INT_64
        ),
        Some(LogicalType::Integer(int)) => int.is_signed,
        Some(_) => false,
    };
    let text = match leaf.logical_type_ref() {
        None => matches!(
            leaf.converted_type(),
            ConvertedType::NONE | ConvertedType::UTF8 | ConvertedType::JSON | ConvertedType::ENUM
        ),
        Some(logical) => matches!(logical, LogicalType::String | LogicalType::Json | LogicalType::Enum),
    };
    match kind {
        Kind::Bool => physical == Physical::BOOLEAN,
        Kind::Int | Kind::Int32 | Kind::Ints | Kind::Mask => {
            matches!(physical, Physical::INT32 | Physical::INT64) && plain_int
        }
        Kind::Float32 | Kind::Floats => physical == Physical::FLOAT,
        Kind::Float64 => matches!(physical, Physical::FLOAT | Physical::DOUBLE),
        Kind::Text | Kind::Json | Kind::Texts => physical == Physical::BYTE_ARRAY && text,
    }
}

/// The file's type in words, for messages.
fn describe(root: &Type) -> String {
    if root.is_primitive() {
        return root.get_physical_type().to_string();
    }
    let mut inner = root;
    while let [only] = if inner.is_group() { inner.get_fields() } else { &[] } {
        inner = only;
    }
    if inner.is_primitive() { format!("a list of {}", inner.get_physical_type()) } else { "a group".into() }
}
