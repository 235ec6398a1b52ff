//! Making cells from plain values, and checking a cell against its column.

use std::borrow::Cow;

use super::{Cell, Kind};

impl Cell<'_> {
    /// True when a column of `kind` can hold this cell.
    pub fn fits(&self, kind: Kind) -> bool {
        matches!(
            (self, kind),
            (Self::Null, _)
                | (Self::Bool(_), Kind::Bool)
                | (Self::Int(_), Kind::Int | Kind::Int32)
                | (Self::F32(_), Kind::Float32)
                | (Self::F64(_), Kind::Float64)
                | (Self::Text(_), Kind::Text | Kind::Json)
                | (Self::Json(_), Kind::Json)
                | (Self::Ints(_), Kind::Ints)
                | (Self::Mask(_), Kind::Mask)
                | (Self::Floats(_), Kind::Floats)
                | (Self::Texts(_), Kind::Texts)
        )
    }

    /// The cell's own name, for messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Null => "Null",
            Self::Bool(_) => "Bool",
            Self::Int(_) => "Int",
            Self::F32(_) => "F32",
            Self::F64(_) => "F64",
            Self::Text(_) => "Text",
            Self::Json(_) => "Json",
            Self::Ints(_) => "Ints",
            Self::Mask(_) => "Mask",
            Self::Floats(_) => "Floats",
            Self::Texts(_) => "Texts",
        }
    }
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for Cell<'_> {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u32> for Cell<'_> {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<f32> for Cell<'_> {
    fn from(value: f32) -> Self {
        Self::F32(value)
    }
}

impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        Self::F64(value)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(Cow::Borrowed(value))
    }
}

impl From<String> for Cell<'_> {
    fn from(value: String) -> Self {
        Self::Text(Cow::Owned(value))
    }
}

impl<'a> From<&'a [i32]> for Cell<'a> {
    fn from(value: &'a [i32]) -> Self {
        Self::Ints(Cow::Borrowed(value))
    }
}

impl<'a> From<&'a [i8]> for Cell<'a> {
    fn from(value: &'a [i8]) -> Self {
        Self::Mask(Cow::Borrowed(value))
    }
}

impl<'a> From<&'a [f32]> for Cell<'a> {
    fn from(value: &'a [f32]) -> Self {
        Self::Floats(Cow::Borrowed(value))
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_value_is_null_whatever_its_type() {
        assert_eq!(Cell::from(None::<f32>), Cell::Null);
        assert_eq!(Cell::from(None::<&str>), Cell::Null);
        assert_eq!(Cell::from(Some(3_i64)), Cell::Int(3));
        assert_eq!(Cell::from(Some(&[1_i32, 2][..])), Cell::Ints(Cow::Borrowed(&[1, 2])));
    }

    #[test]
    fn a_cell_fits_its_own_kind_and_null_fits_all() {
        assert!(Cell::Null.fits(Kind::Floats));
        assert!(Cell::F32(1.0).fits(Kind::Float32));
        assert!(!Cell::F32(1.0).fits(Kind::Float64));
    }

    #[test]
    fn a_text_is_a_string_in_a_json_column_but_json_is_no_text() {
        assert!(Cell::from("a").fits(Kind::Json));
        assert!(!Cell::Json("1".into()).fits(Kind::Text));
    }
}
