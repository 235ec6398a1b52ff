"""Values as they may go over the wire: what a caller hands in becomes plain scalars, and a record one line of strict JSON.

A caller's thread runs `scalar` and `snapshot` only: they read what could change after the call. Everything else (finite
numbers, whole text, JSON) is `encode`, which the sending thread runs.
"""

from __future__ import annotations

import codecs
import json
import math
import os
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final, Union

Scalar = Union[bool, int, float, str]
Record = dict[str, object]

_PLAIN: Final[frozenset[type]] = frozenset({bool, int, float, str})

# An id is read as a signed 64-bit number; a wider one would be rounded, which is worse than a missing record.
_ID_MIN: Final = -(2**63)
_ID_MAX: Final = 2**63 - 1
_ID_FIELDS: Final = {
    "trajectories": ("sample_index", "group_index", "turn"),
    "data_buffer": ("length",),
    "phases": ("rank",),
}

# The collector takes lines of one MiB. A text of this length among metrics is a page or a table, no value.
_LINE_MAX: Final = 1024 * 1024
_TEXT_MAX: Final = 64 * 1024

# One encoder for all records: json.dumps with arguments makes a new one at each call.
_dumps: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

# Loaded now: the sending thread imports nothing, as a child that is forked meanwhile would never have it.
codecs.lookup("utf-16-le")


class _Missing(Enum):
    MISSING = 0


MISSING: Final = _Missing.MISSING
"""What `scalar` answers for a value that is not one number, bool or text."""


def scalar(value: object) -> Scalar | _Missing:
    """A plain bool, int, float or str of whatever holds exactly one: subclasses of them, Enum members, NumPy and torch
    scalars, arrays and tensors of one element, anything that converts to float. Everything else is `MISSING`.

    Never raises. On a tensor of an accelerator it waits for that tensor, as `float(tensor)` does.
    """
    kind = type(value)
    if kind is bool or kind is int or kind is float or kind is str:
        return value  # type: ignore[return-value]
    try:
        # Exact types from here on: json would write an IntEnum or a float64 by a repr of its own.
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, bool):
            return bool(value)
        if isinstance(value, int):
            return int.__int__(value)
        if isinstance(value, float):
            return float.__float__(value)
        if isinstance(value, Enum):
            return MISSING if value.value is value else scalar(value.value)
        if value is None or isinstance(value, (bytes, bytearray, complex)):
            return MISSING
        item = getattr(value, "item", None)
        if callable(item):
            # NumPy and torch refuse this for more than one element.
            plain = item()
            return MISSING if type(plain) not in _PLAIN else plain
        if hasattr(kind, "__float__"):
            return float(value)  # type: ignore[arg-type]
    except Exception:  # whatever a stranger's class raises, the value is not a number
        return MISSING
    return MISSING


def snapshot(values: Mapping[Any, object]) -> dict[Any, Scalar]:
    """A copy that holds plain scalars only. Keys are as they were: they cannot change, so `encode` looks at them."""
    copy: dict[Any, object] = dict(values)
    if _PLAIN.issuperset(map(type, copy.values())):
        return copy  # type: ignore[return-value]
    return {key: plain for key, value in copy.items() if (plain := scalar(value)) is not MISSING}


def plain_args(values: Mapping[str, object]) -> dict[str, Scalar | None]:
    """Arguments that are one scalar, None or a path; the others are left out."""
    kept: dict[str, Scalar | None] = {}
    for key, value in values.items():
        if value is None:
            kept[key] = None
            continue
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        plain = scalar(value)
        if plain is not MISSING:
            kept[key] = plain
    return kept


def whole_text(text: str) -> str:
    """The text with lone surrogates replaced, which UTF-8 has no bytes for; split pairs are joined."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encode(record: Record) -> bytes | None:
    """One line of strict JSON, newline included; None when the record cannot be told truly."""
    stream = record.get("stream")
    if not _ids_fit(record, _ID_FIELDS.get(str(stream), ())):
        return None
    if stream == "metrics":
        metrics = _finite(record["metrics"])
        if not metrics:
            return None
        record = {**record, "metrics": metrics}
    elif stream == "meta":
        record = {**record, "args": _finite(record["args"])}
    try:
        return _line(record)
    except UnicodeEncodeError:
        # Lone surrogates are rare: look for them only when UTF-8 refuses.
        try:
            return _line(_whole(record))
        except (ValueError, TypeError):
            return None
    except (ValueError, TypeError):
        # A time that is not a number belongs to no hour, and what JSON has no words for is no record.
        return None


def _line(record: object) -> bytes | None:
    line = (_dumps(record) + "\n").encode("utf-8")
    return line if len(line) <= _LINE_MAX else None


def _ids_fit(record: Record, fields: Iterable[str]) -> bool:
    for field in fields:
        value = record[field]
        if type(value) is not int or not _ID_MIN <= value <= _ID_MAX:
            return False
    return True


def _finite(values: object) -> dict[str, object]:
    """What JSON can hold. NaN and the infinities are left out: a missing value is a missing key."""
    kept: dict[str, object] = {}
    if isinstance(values, dict):
        for key, value in values.items():
            try:
                # A float is exact or not there; an int keeps all its digits as long as a float can come near it.
                fits = math.isfinite(value) if isinstance(value, (int, float)) else _fits(value)
            except OverflowError:
                fits = False
            if fits:
                kept[key if type(key) is str else str(key)] = value
    return kept


def _fits(value: object) -> bool:
    return not isinstance(value, str) or len(value) <= _TEXT_MAX


def _whole(value: object) -> object:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return value
