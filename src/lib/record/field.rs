//! The types that a field of a record can have, and how each is read from any JSON value.

use serde_json::value::RawValue;

use super::json::Text;

/// Name and type of one field of a stream's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its key in the JSON object.
    pub name: &'static str,
    /// What its values are.
    pub kind: FieldKind,
}

/// Type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// True or false.
    Bool,
    /// 64-bit integer.
    Int,
    /// 64-bit float.
    Float,
    /// Text.
    Text,
    /// List of GPU indices.
    Ints,
    /// Any JSON value, kept as it is written.
    Json,
}

/// Value of one field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Not in the line, `null`, or of another type (then it is among the record's `extra`).
    Missing,
    /// [`FieldKind::Bool`].
    Bool(bool),
    /// [`FieldKind::Int`].
    Int(i64),
    /// [`FieldKind::Float`].
    Float(f64),
    /// [`FieldKind::Text`].
    Text(&'a str),
    /// [`FieldKind::Ints`].
    Ints(&'a [i32]),
    /// [`FieldKind::Json`]: strict JSON text.
    Json(&'a str),
}

/// A Rust type that a field can have.
pub(super) trait FieldType<'a>: Sized {
    /// How the type is named.
    const KIND: FieldKind;
    /// Reads a value that is not `null`; `None` when it is of another type.
    fn read(raw: &'a RawValue) -> Option<Self>;
    /// The value as one of any type.
    fn value(&self) -> Value<'_>;
}

impl FieldType<'_> for bool {
    const KIND: FieldKind = FieldKind::Bool;

    fn read(raw: &RawValue) -> Option<Self> {
        raw.get().parse().ok()
    }

    fn value(&self) -> Value<'_> {
        Value::Bool(*self)
    }
}

impl FieldType<'_> for i64 {
    const KIND: FieldKind = FieldKind::Int;

    fn read(raw: &RawValue) -> Option<Self> {
        /// Above it not every integer is a float, so a float does not say which integer was meant.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        raw.get().parse().ok().or_else(|| {
            let float = f64::read(raw)?;
            (float.trunc() == float && float.abs() <= EXACT).then_some(float as Self)
        })
    }

    fn value(&self) -> Value<'_> {
        Value::Int(*self)
    }
}

impl FieldType<'_> for f64 {
    const KIND: FieldKind = FieldKind::Float;

    fn read(raw: &RawValue) -> Option<Self> {
        // `parse` takes words such as `inf` too, but those are not JSON and cannot be here.
        raw.get().parse().ok().filter(|float: &Self| float.is_finite())
    }

    fn value(&self) -> Value<'_> {
        Value::Float(*self)
    }
}

impl<'a> FieldType<'a> for Text<'a> {
    const KIND: FieldKind = FieldKind::Text;

    fn read(raw: &'a RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    fn value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl FieldType<'_> for Vec<i32> {
    const KIND: FieldKind = FieldKind::Ints;

    fn read(raw: &RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    fn value(&self) -> Value<'_> {
        Value::Ints(self)
    }
}

impl<'a> FieldType<'a> for &'a RawValue {
    const KIND: FieldKind = FieldKind::Json;

    fn read(raw: &'a RawValue) -> Option<Self> {
        Some(raw)
    }

    fn value(&self) -> Value<'_> {
        Value::Json(self.get())
    }
}
