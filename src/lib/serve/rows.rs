//! Tables as the API answers them: the names of the columns, and an object a row.

use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::rollout::StepId;
use crate::row::{Cell, Column};

/// The answer of `summary` and `groups`.
pub(super) struct Table<'a> {
    pub(super) id: StepId,
    /// Which columns, in the order of the answer, by their place in a row of cells.
    pub(super) order: Vec<usize>,
    pub(super) columns: &'a [Column],
    pub(super) rows: Vec<Vec<Cell<'a>>>,
}

impl Serialize for Table<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names: Vec<&str> = self.order.iter().map(|&i| &*self.columns[i].name).collect();
        let mut object = serializer.serialize_map(Some(4))?;
        object.serialize_entry("rollout_id", &self.id.rollout_id)?;
        object.serialize_entry("evaluation", &self.id.evaluation)?;
        object.serialize_entry("columns", &names)?;
        object.serialize_entry("rows", &Rows(self))?;
        object.end()
    }
}

struct Rows<'a>(&'a Table<'a>);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.rows.iter().map(|cells| Row { table: self.0, cells }))
    }
}

struct Row<'a> {
    table: &'a Table<'a>,
    cells: &'a [Cell<'a>],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.table.order.iter();
        serializer.collect_map(entries.map(|&i| (&self.table.columns[i].name, Value(&self.cells[i]))))
    }
}

struct Value<'a>(&'a Cell<'a>);

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Cell::Null => serializer.serialize_none(),
            Cell::Bool(value) => serializer.serialize_bool(*value),
            Cell::Int(value) => serializer.serialize_i64(*value),
            // serde_json writes the shortest digits that give the value back, and null for NaN and infinity.
            Cell::F32(value) => serializer.serialize_f32(*value),
            Cell::F64(value) => serializer.serialize_f64(*value),
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Json(json) => match serde_json::from_str::<&RawValue>(json) {
                Ok(raw) => raw.serialize(serializer),
                Err(e) => Err(S::Error::custom(e)),
            },
            Cell::Ints(list) => list.serialize(serializer),
            Cell::Mask(list) => list.serialize(serializer),
            Cell::Floats(list) => list.serialize(serializer),
            Cell::Texts(list) => list.serialize(serializer),
        }
    }
}
