//! Lists as dumps hold them: a Python list of numbers, now and then a tensor, an array, or a list with
//! None or NumPy scalars in it.

use super::Error;
use crate::pt::{Elements, Kind, Ref};

/// How many elements a list, tensor or array has.
pub(super) fn len(r: Ref<'_>) -> Option<usize> {
    if let Some(n) = r.len() {
        return Some(n);
    }
    match r.kind().ok()? {
        Kind::Tensor(t) => usize::try_from(t.elements_len()?).ok(),
        Kind::Array(a) => usize::try_from(a.elements_len()).ok(),
        _ => None,
    }
}

/// Integers of a type. `None` when the value is `None` or no list.
///
/// # Errors
/// An element is no integer of that type, or a tensor cannot be read.
pub(super) fn ints<T: TryFrom<i64>>(r: Ref<'_>, name: &str) -> Result<Option<Vec<T>>, Error> {
    let wrong = || Error::from(r.unexpected(format!("{name} holds something that is no integer in range")));
    if let Some(numbers) = r.numbers() {
        return numbers.to_ints().map(Some).ok_or_else(wrong);
    }
    let convert = |v: i64| T::try_from(v).map_err(|_| wrong());
    let elements = match r.kind()? {
        Kind::None => return Ok(None),
        Kind::List(items) | Kind::Tuple(items) => {
            let each = items.into_iter().map(|i| i.as_i64().ok_or_else(wrong).and_then(convert));
            return each.collect::<Result<_, _>>().map(Some);
        }
        Kind::Tensor(t) => return Ok(Some(t.to_ints()?)),
        Kind::Array(a) => a.elements().map_err(|_| wrong())?,
        _ => return Ok(None),
    };
    match elements {
        Elements::Int(v) => v.into_iter().map(convert).collect::<Result<_, _>>().map(Some),
        Elements::Bool(v) => v.into_iter().map(|b| convert(i64::from(b))).collect::<Result<_, _>>().map(Some),
        _ => Err(wrong()),
    }
}

/// Floats; a `None` among them is NaN. `None` when the value is `None` or no list.
///
/// # Errors
/// An element is no number, or a tensor cannot be read.
pub(super) fn floats(r: Ref<'_>, name: &str) -> Result<Option<Vec<f32>>, Error> {
    let wrong = || Error::from(r.unexpected(format!("{name} holds something that is no number")));
    if let Some(numbers) = r.numbers() {
        return Ok(Some(numbers.to_f32()));
    }
    match r.kind()? {
        Kind::List(items) | Kind::Tuple(items) => {
            let each = items.into_iter().map(|i| match i.as_f64() {
                Some(f) => Ok(f as f32),
                None if i.is_none() => Ok(f32::NAN),
                None => Err(wrong()),
            });
            each.collect::<Result<_, _>>().map(Some)
        }
        Kind::Tensor(t) => Ok(Some(t.to_f32()?.into_owned())),
        Kind::Array(a) => match a.elements().map_err(|_| wrong())? {
            Elements::F32(v) => Ok(Some(v)),
            Elements::F64(v) => Ok(Some(v.into_iter().map(|x| x as f32).collect())),
            Elements::Int(v) => Ok(Some(v.into_iter().map(|x| x as f32).collect())),
            _ => Err(wrong()),
        },
        _ => Ok(None),
    }
}

/// Numbers one a row of a shard or sample of a batch, where some may be missing.
pub(super) fn optional_floats(r: Ref<'_>) -> Vec<Option<f64>> {
    if let Some(numbers) = r.numbers() {
        return numbers.to_f64().into_iter().map(|x| x.is_finite().then_some(x)).collect();
    }
    match r.kind() {
        Ok(Kind::List(items) | Kind::Tuple(items)) => {
            items.into_iter().map(|i| i.as_f64().filter(|x| x.is_finite())).collect()
        }
        Ok(Kind::Tensor(t)) => match t.elements() {
            Ok(Elements::F32(v)) => v.into_iter().map(|x| x.is_finite().then_some(f64::from(x))).collect(),
            Ok(Elements::F64(v)) => v.into_iter().map(|x| x.is_finite().then_some(x)).collect(),
            Ok(Elements::Int(v)) => v.into_iter().map(|x| Some(x as f64)).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
